//===- generate_test.cpp - from a prompt to text ----------------------------===//

#include "toy_package.h"

#include <gtest/gtest.h>

using toy::Opened;

namespace {

/// A model that repeats a script: after n tokens of history its largest logit is script[n].
std::vector<int32_t> script;

void scripted(const writ_step *step) {
  float *logits =
      reinterpret_cast<float *>(static_cast<char *>(step->output_arena) + 64 * step->max_outputs);
  for (int64_t i = 0; i < step->rows->outputs; ++i)
    for (int64_t v = 0; v < toy::kVocabulary; ++v) {
      const int32_t position = step->rows->position[step->rows->output_row[i]];
      logits[i * toy::kVocabulary + v] = v == script.at(size_t(position) + 1) ? 5.0f : 0.0f;
    }
}

class GenerateTest : public testing::Test {
protected:
  GenerateTest() : model(*toy::alikeModel()) {
    model.prefill = model.decode = scripted;
    opened = std::make_unique<Opened>(&model, [](writ_session_options &options) {
      options.context_tokens = 40;
      options.max_rows = 4;
      options.page_size = 4;
    });
    writ_generate_options_init(&options);
    options.callback = [](void *user, const char *text, int64_t bytes) -> int32_t {
      auto &test = *static_cast<GenerateTest *>(user);
      test.text.append(text, size_t(bytes));
      test.pieces.emplace_back(text, size_t(bytes));
      return test.text.size() >= test.stopAfter;
    };
    options.user = this;
    result.struct_size = sizeof result;
  }

  static std::vector<int32_t> idsOf(const std::vector<std::string> &tokens) {
    std::vector<int32_t> ids;
    for (const std::string &token : tokens)
      ids.push_back(toy::idOf(token));
    return ids;
  }
  /// `answer` follows a prompt of three tokens.
  writ_status generate(const std::vector<std::string> &answer) {
    script = idsOf({"a", "b", "c"});
    const std::vector<int32_t> tail = idsOf(answer);
    script.insert(script.end(), tail.begin(), tail.end());
    const std::vector<int32_t> end(40, toy::idOf("z"));
    script.insert(script.end(), end.begin(), end.end());
    sequence = opened->sequence();
    text.clear();
    pieces.clear();
    const writ_status status =
        writ_generate(opened->session, sequence, script.data(), 3, &options, &result, &error);
    writ_sequence_length(opened->session, sequence, &length, nullptr);
    writ_sequence_release(opened->session, sequence, nullptr);
    return status;
  }

  writ_model_desc model;
  std::unique_ptr<Opened> opened;
  writ_generate_options options;
  writ_generate_result result{};
  writ_error error{};
  writ_sequence sequence{};
  std::string text;
  std::vector<std::string> pieces;
  size_t stopAfter = std::string::npos;
  int64_t length = 0;
};

TEST_F(GenerateTest, N13_ATokenThatEndsAGenerationEndsIt) {
  ASSERT_EQ(generate({"h", "i", toy::kEnd, "x"}), WRIT_OK) << error.text;
  EXPECT_EQ(text, "hi");
  EXPECT_EQ(result.finish, WRIT_FINISH_END);
  EXPECT_EQ(result.prompt_tokens, 3);
  EXPECT_EQ(result.generated_tokens, 3);
  EXPECT_EQ(result.decode_steps, 2);
  EXPECT_EQ(length, 5) << "all drawn tokens but the last";
  options.ignore_end = 1;
  options.max_tokens = 4;
  ASSERT_EQ(generate({"h", "i", toy::kEnd, "x"}), WRIT_OK);
  EXPECT_EQ(text, "hix");
  EXPECT_EQ(result.finish, WRIT_FINISH_LENGTH);
}

TEST_F(GenerateTest, N13_MaxTokensIsExact) {
  for (const int64_t most : {0, 1, 2, 5}) {
    options.max_tokens = most;
    std::vector<int32_t> drawn(size_t(most) + 1, -7);
    options.tokens = drawn.data();
    ASSERT_EQ(generate({"q", "r", "s", "t", "u", "v"}), WRIT_OK);
    EXPECT_EQ(text, std::string("qrstu").substr(0, size_t(most)));
    EXPECT_EQ(result.generated_tokens, most);
    EXPECT_EQ(result.finish, WRIT_FINISH_LENGTH);
    EXPECT_EQ(length, most ? 2 + most : 3);
    for (int64_t i = 0; i < most; ++i)
      EXPECT_EQ(drawn[size_t(i)], script[size_t(i) + 3]);
    EXPECT_EQ(drawn.back(), -7);
  }
}

TEST_F(GenerateTest, N18_TextIsCutBeforeAStopStringThatSpansTokens) {
  const char *stops[] = {"no", "r\xc3\xa9!", "cdx", "cde"};
  options.stop_strings = stops;
  options.stop_count = 4;
  ASSERT_EQ(generate({"a", "c", "d", "c", "d", "e", "f"}), WRIT_OK);
  EXPECT_EQ(text, "acd");
  EXPECT_EQ(result.finish, WRIT_FINISH_STRING);
  EXPECT_EQ(result.generated_tokens, 6);
  options.max_tokens = 3;
  ASSERT_EQ(generate({"a", "c", "d", "c"}), WRIT_OK);
  EXPECT_EQ(text, "acd") << "what was held back comes at the end";
  EXPECT_EQ(result.finish, WRIT_FINISH_LENGTH);
}

TEST_F(GenerateTest, N18_StreamedTextNeverCutsACharacter) {
  options.max_tokens = 4;
  ASSERT_EQ(generate({"f", "Ã", "©", "?"}), WRIT_OK);
  EXPECT_EQ(pieces, (std::vector<std::string>{"f", "\xc3\xa9", "?"}));
  options.max_tokens = 2;
  ASSERT_EQ(generate({"f", "Ã"}), WRIT_OK);
  EXPECT_EQ(text, "f\xef\xbf\xbd") << "an unfinished character is U+FFFD";
}

TEST_F(GenerateTest, N13_TheCallbackAndTheFlagStop) {
  stopAfter = 2;
  ASSERT_EQ(generate({"q", "r", "s"}), WRIT_OK);
  EXPECT_EQ(text, "qr");
  EXPECT_EQ(result.finish, WRIT_FINISH_STOPPED);
  const volatile int32_t stop = 1;
  options.stop = &stop;
  ASSERT_EQ(generate({"q", "r", "s"}), WRIT_OK);
  EXPECT_EQ(text, "");
  EXPECT_EQ(result.finish, WRIT_FINISH_STOPPED);
  EXPECT_EQ(result.prompt_tokens, 0);
  EXPECT_EQ(length, 0) << "a stop during the prompt rewinds";
}

TEST(Generate, N13_AStopActsBetweenTwoKernelsOfADecodeStep) {
  struct Watched {
    volatile int32_t stop = 0;
    int64_t calls = 0, last = 0;
  } watched;
  Opened opened(toy::alikeModel(), [&](writ_session_options &options) {
    options.context_tokens = 40;
    options.trace_user = &watched;
    options.trace = [](void *user, const writ_step *, uint32_t, const writ_provider *,
                       const void *) {
      Watched &self = *static_cast<Watched *>(user);
      self.stop = ++self.calls == self.last;
    };
  });
  writ_generate_options options;
  writ_generate_options_init(&options);
  options.max_tokens = 10;
  options.ignore_end = 1;
  options.stop = &watched.stop;
  // 8 kernels and a draw for the prompt, the same for the first token; then the second's step.
  watched.last = 9 + 9 + 3;
  const writ_sequence sequence = opened.sequence();
  const std::vector<int32_t> ids = toy::tokens(3, 5);
  writ_generate_result result{};
  result.struct_size = sizeof result;
  ASSERT_EQ(writ_generate(opened.session, sequence, ids.data(), 3, &options, &result, nullptr),
            WRIT_OK);
  EXPECT_EQ(result.finish, WRIT_FINISH_STOPPED);
  EXPECT_EQ(result.generated_tokens, 2);
  EXPECT_EQ(result.decode_steps, 1);
  EXPECT_EQ(watched.calls, watched.last);
  int64_t length = 0;
  EXPECT_EQ(writ_sequence_length(opened.session, sequence, &length, nullptr), WRIT_OK);
  EXPECT_EQ(length, 4) << "all drawn tokens but the last";
}

TEST_F(GenerateTest, N13_TheContextsEndEndsIt) {
  options.max_tokens = 100;
  ASSERT_EQ(generate({}), WRIT_OK);
  EXPECT_EQ(result.finish, WRIT_FINISH_CONTEXT);
  EXPECT_EQ(length, 40);
  EXPECT_EQ(result.generated_tokens, 38) << "37 in the sequence, and the one after them";
}

TEST_F(GenerateTest, F14_APromptThatDoesNotFitIsRefusedBeforeAnythingIsDone) {
  const std::vector<int32_t> ids = toy::tokens(41, 1);
  sequence = opened->sequence();
  const int64_t pages = writ_session_free_pages(opened->session);
  EXPECT_EQ(writ_generate(opened->session, sequence, ids.data(), 41, &options, &result, &error),
            WRIT_CONTEXT_FULL);
  EXPECT_NE(std::string(error.text).find("41 tokens after 0 do not fit: context_tokens is 40"),
            std::string::npos)
      << error.text;
  EXPECT_EQ(writ_session_free_pages(opened->session), pages);
  EXPECT_EQ(writ_generate(opened->session, sequence, ids.data(), 0, &options, &result, &error),
            WRIT_INVALID_ARGUMENT);
  options.max_tokens = -1;
  EXPECT_EQ(writ_generate(opened->session, sequence, ids.data(), 1, &options, &result, &error),
            WRIT_INVALID_ARGUMENT);
  options.max_tokens = 1;
  options.stop_count = 1;
  EXPECT_EQ(writ_generate(opened->session, sequence, ids.data(), 1, &options, &result, &error),
            WRIT_INVALID_ARGUMENT);
  const char *empty = "";
  options.stop_strings = &empty;
  EXPECT_EQ(writ_generate(opened->session, sequence, ids.data(), 1, &options, &result, &error),
            WRIT_INVALID_ARGUMENT);
  EXPECT_STREQ(error.text, "stop_strings[0] is empty, expected text");
}

TEST_F(GenerateTest, S3_GenerateEqualsStepsByHand) {
  Opened toyOpened(toy::alikeModel(), [](writ_session_options &options) {
    options.context_tokens = 200;
    options.max_rows = 16;
  });
  const std::vector<int32_t> prompt = toy::tokens(70, 6);
  std::vector<int32_t> drawn(30);
  options.tokens = drawn.data();
  options.max_tokens = 30;
  options.ignore_end = 1;
  options.callback = nullptr;
  ASSERT_EQ(writ_generate(toyOpened.session, toyOpened.sequence(), prompt.data(), 70, &options,
                          &result, &error),
            WRIT_OK)
      << error.text;
  std::vector<int32_t> history = prompt;
  for (const int32_t token : drawn) {
    const std::vector<float> logits = toy::expectedLogits(history);
    if (history.back() == toy::kNanToken)
      break;
    EXPECT_EQ(token, std::max_element(logits.begin(), logits.end()) - logits.begin());
    history.push_back(token);
  }
}

} // namespace
