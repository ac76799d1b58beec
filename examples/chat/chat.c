/* Talks with a model, turn after turn, through the C API alone. The answer is shown as it is made.
 *
 *   cc -std=c11 -I$WRIT/include chat.c -L$WRIT/lib -lwrit_runtime -Wl,-rpath,$WRIT/lib -o chat
 *   ./chat PACKAGE [MAX_TOKENS]
 *
 * WRIT is the folder that holds include/ and lib/: the build folder, or where Writ is installed.
 * One line of standard input is one turn; the end of input ends the conversation.
 *
 * Each turn feeds only what is new. A chat template writes a longer conversation as the shorter one
 * and more, so the ids of the sequence and of the new prompt agree up to some token; the sequence
 * is rewound to there. That shortens the work and, since a bit depends on the history of tokens
 * alone, changes nothing that is said.
 */
#include "writ/writ.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { max_turns = 64, max_line = 4096, context = 4096 };

/* The answer of one turn, kept for the next prompt. */
struct answer {
  char *text;
  size_t bytes;
};

static void require(writ_status status, const writ_error *error) {
  if (status == WRIT_OK)
    return;
  fprintf(stderr, "%s: %s\n", writ_status_name(status), error->text);
  exit(1);
}

static int32_t take_text(void *user, const char *text, int64_t bytes) {
  struct answer *answer = user;
  char *longer = realloc(answer->text, answer->bytes + (size_t)bytes + 1);
  if (!longer)
    return 1; /* stops the generation */
  memcpy(longer + answer->bytes, text, (size_t)bytes);
  answer->text = longer;
  answer->bytes += (size_t)bytes;
  longer[answer->bytes] = 0;
  fwrite(text, 1, (size_t)bytes, stdout);
  return fflush(stdout);
}

static char *copy_line(const char *line) {
  const size_t bytes = strcspn(line, "\n");
  char *copy = malloc(bytes + 1);
  if (!copy)
    exit(1);
  memcpy(copy, line, bytes);
  copy[bytes] = 0;
  return copy;
}

/* Tokens at the beginning that two histories share; at least one of `b` is left to be fed. */
static int64_t shared(const int32_t *a, int64_t a_count, const int32_t *b, int64_t b_count) {
  int64_t length = 0;
  while (length < a_count && length + 1 < b_count && a[length] == b[length])
    ++length;
  return length;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: chat PACKAGE [MAX_TOKENS]\n");
    return 2;
  }
  writ_error error;
  writ_package *package;
  require(writ_package_open(argv[1], NULL, &package, &error), &error);
  writ_package_info info;
  info.struct_size = sizeof(info);
  require(writ_package_get_info(package, &info, &error), &error);

  writ_session_options options;
  writ_session_options_init(&options);
  options.context_tokens = info.context_length < context ? info.context_length : context;
  writ_session *session;
  require(writ_session_create(package, &options, &session, &error), &error);
  writ_sequence sequence;
  require(writ_sequence_create(session, &sequence, &error), &error);

  writ_message messages[2 * max_turns];
  int64_t count = 0;
  static int32_t prompt[context], held[context];
  char line[max_line];
  while (count + 2 <= 2 * max_turns && fgets(line, sizeof(line), stdin)) {
    messages[count++] = (writ_message){"user", copy_line(line)};
    int64_t length, holds;
    require(writ_chat_tokenize(package, messages, count, prompt, context, &length, &error), &error);
    require(writ_sequence_tokens(session, sequence, held, context, &holds, &error), &error);
    const int64_t same = shared(held, holds, prompt, length);
    require(writ_sequence_rewind(session, sequence, same, &error), &error);

    struct answer answer = {NULL, 0};
    writ_generate_options generate;
    writ_generate_options_init(&generate);
    generate.max_tokens = argc == 3 ? atoll(argv[2]) : 256;
    generate.callback = take_text;
    generate.user = &answer;
    writ_generate_result result;
    result.struct_size = sizeof(result);
    require(
        writ_generate(session, sequence, prompt + same, length - same, &generate, &result, &error),
        &error);
    putchar('\n');
    fprintf(stderr, "[%lld tokens of the conversation were held, %lld were fed]\n", (long long)same,
            (long long)result.prompt_tokens);
    messages[count++] = (writ_message){"assistant", answer.text ? answer.text : copy_line("")};
    if (result.finish == WRIT_FINISH_CONTEXT) {
      fprintf(stderr, "[the context of %lld tokens is full]\n", (long long)options.context_tokens);
      break;
    }
  }

  while (count > 0)
    free((void *)messages[--count].content);
  require(writ_session_destroy(session, &error), &error);
  require(writ_package_close(package, &error), &error);
  return 0;
}
