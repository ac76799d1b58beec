//===- writ.h - the C API of the runtime ----------------------------------===//
//
// A package (what `writ compile` writes) is opened once and shared; a session holds the KV memory,
// the threads and the sequences of one user of it.
//
//   writ_package *package;  writ_session *session;  writ_sequence sequence;  writ_error error;
//   writ_package_open("build/smollm2", NULL, &package, &error);
//   writ_session_create(package, NULL, &session, &error);
//   writ_sequence_create(session, &sequence, &error);
//   writ_generate(session, sequence, ids, count, &options, &result, &error);
//
// Conventions
//   - Every function that can fail returns a writ_status and takes a writ_error, last, which may be
//   null.
//     On success the error is left alone. On failure its text says what was wrong, with the actual
//     value and, where there is one, the file, the field or the option to change. A failure changes
//     nothing: no sequence, no page, no output; the functions whose comment says otherwise
//     excepted.
//   - No C++ exception leaves the library, and it holds no global state. One that a callback throws
//   is
//     contained: it stops what the callback could have stopped, and is dropped otherwise.
//   - Option and result structs begin with `struct_size`, which the caller sets to sizeof(the
//   struct);
//     writ_*_init() does so and sets the defaults. A shorter (older) struct is read as if the rest
//     had its default; a longer (newer) one is refused if a byte beyond what this library knows is
//     not zero; a size that no such struct can have (not a multiple of 8) is refused. What is
//     `reserved` in options must be 0. Options may be null, which means the defaults.
//   - Flags are int32_t, 0 or not 0. Counts and sizes are int64_t and never negative.
//   - Text is UTF-8. Pointers that the library returns belong to the handle they came from and die
//   with it.
//   - Where text or ids are written to a buffer, `*needed` is set to the full size whether it fits
//   or not;
//     if it does not, the status is WRIT_BUFFER_TOO_SMALL and nothing is written. A null buffer
//     with capacity 0 asks for the size. No terminating zero is written.
//
// Thread safety
//   - writ_package is immutable once open: any number of threads may use it at the same time.
//   - writ_session, with its sequences, belongs to one thread at a time; different sessions are
//     independent. A call that meets another one in progress on the same session (a callback that
//     calls back into it included) is refused with WRIT_BUSY.
//
//===----------------------------------------------------------------------===//
#ifndef WRIT_WRIT_H
#define WRIT_WRIT_H

#include "writ/kernel_abi.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WRIT_API __attribute__((visibility("default")))
#else
#define WRIT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Status and errors
//===----------------------------------------------------------------------===//

typedef enum writ_status {
  WRIT_OK = 0,
  WRIT_INVALID_ARGUMENT = 1, ///< null, out of range, a stale handle; the caller's mistake
  WRIT_IO_ERROR = 2,         ///< a file cannot be opened, read or mapped
  WRIT_BAD_PACKAGE = 3,      ///< the package is malformed, or its parts do not belong together
  WRIT_VERSION_MISMATCH = 4, ///< the package or the library is of another version
  WRIT_DIGEST_MISMATCH = 5,  ///< a file is not the one that the lock names
  WRIT_UNSUPPORTED = 6,      ///< this machine or this package lacks what was asked for
  WRIT_OUT_OF_MEMORY = 7,    ///< the system refused memory
  WRIT_OUT_OF_PAGES =
      8, ///< too few free KV pages; release or rewind a sequence, or raise kv_tokens
  WRIT_CONTEXT_FULL = 9, ///< a sequence would exceed context_tokens
  WRIT_BUFFER_TOO_SMALL = 10,
  WRIT_NON_FINITE = 11,       ///< logits hold a NaN or an infinity; nothing was sampled
  WRIT_STOPPED = 12,          ///< a callback or the stop flag ended the call
  WRIT_BUSY = 13,             ///< another call is in progress on this session
  WRIT_OUT_OF_SEQUENCES = 14, ///< max_sequences live; release one
  WRIT_INTERNAL = 15          ///< a fault of the library; please report it
} writ_status;

/// What went wrong. The layout is fixed. `text` is zero-terminated, lower case, one line.
typedef struct writ_error {
  int32_t status; ///< a writ_status
  char text[1020];
} writ_error;

/// "invalid argument", "out of pages", …; never null.
WRIT_API const char *writ_status_name(int32_t status);

//===----------------------------------------------------------------------===//
// Library and machine
//===----------------------------------------------------------------------===//

/// The library's version, "0.1.0".
WRIT_API const char *writ_version(void);
/// The version of packages that this library reads.
WRIT_API int32_t writ_package_version(void);

/// The best instruction set that this processor and its operating system support.
WRIT_API writ_isa writ_isa_best(void);
/// Whether this machine runs bodies of an instruction set: 1 or 0.
WRIT_API int32_t writ_isa_supported(int32_t isa);
/// "scalar", "avx2", "avx512", "neon", "dotprod", "avx512bf16"; null for another value.
WRIT_API const char *writ_isa_name(int32_t isa);
/// The instruction set of a name, -1 for an unknown name.
WRIT_API int32_t writ_isa_from_name(const char *name);
/// Processors that this process may run on; the default number of threads.
WRIT_API int32_t writ_processor_count(void);

typedef enum writ_log_level {
  WRIT_LOG_DEBUG = 0,
  WRIT_LOG_INFO = 1,
  WRIT_LOG_WARNING = 2,
  WRIT_LOG_PROGRESS = 3 ///< replaces the line before it: "weights.safetensors: checked 40%"
} writ_log_level;

/// Receives one line without its line end. Called on the thread of the call that logs, never inside
/// a step and never while a lock is held.
typedef void (*writ_log)(void *user, int32_t level, const char *message);

//===----------------------------------------------------------------------===//
// Package
//===----------------------------------------------------------------------===//

typedef struct writ_package writ_package;
struct writ_model_desc;

typedef struct writ_open_options {
  size_t struct_size;
  int32_t verify; ///< hash the weights again even where the stamp says that they were checked
  int32_t reserved;
  writ_log log; ///< may be null
  void *log_user;
} writ_open_options;

/// Like every writ_*_init, does nothing with a null pointer.
WRIT_API void writ_open_options_init(writ_open_options *options);

/// Opens the package in the folder `path`: reads writ.lock.json, checks its version, the digests of
/// tokenizer.bin and of the weights (whole at the first open, which leaves PATH/.writ-stamp; later
/// opens compare size, times and digest with the stamp; a folder that cannot be written to is
/// hashed each time) and of chat.json, maps the weights, checks the digest of lib/libmodel.so and
/// loads it: model, circuit, profile, resolutions and calls must be those that
/// the lock names. The folder may have been moved since it was written, and must not change while
/// it is open: a step that finds the weights changed is refused with WRIT_IO_ERROR. On failure
/// `*package` is null.
WRIT_API writ_status writ_package_open(const char *path, const writ_open_options *options,
                                       writ_package **package, writ_error *error);

/// The same for a model that is linked into the program: `model` is what its writ_model() returned;
/// lib/ is not looked at. All other checks hold as above.
WRIT_API writ_status writ_package_open_linked(const struct writ_model_desc *model, const char *path,
                                              const writ_open_options *options,
                                              writ_package **package, writ_error *error);

/// For a program's handler of SIGBUS, which the system raises where a mapped file became shorter or
/// its disk fails: if `address` (siginfo_t's si_addr) lies in the package's weights, zeros are put
/// there and the result is 1; the handler then returns, the step in progress runs to its end, and
/// it and every later step fail with WRIT_IO_ERROR. 0 if the address is none of the package's: the
/// fault is the program's own affair. Async-signal-safe. The library installs no handler: without
/// one such a fault ends the process. docs/decisions/009 says why.
WRIT_API int32_t writ_package_contain_fault(const writ_package *package, const void *address);

/// Closes; null is allowed. Refused with WRIT_BUSY while a session of it lives.
WRIT_API writ_status writ_package_close(writ_package *package, writ_error *error);

typedef struct writ_package_info {
  size_t struct_size;
  int32_t production; ///< 0: compiled with --bringup; not for production
  int32_t package_version;
  const char *path; ///< the folder as it was given
  const char *model_name;
  const char *model_sha256; ///< of the model file that was compiled
  const char *circuit;
  const char *circuit_sha256;
  const char *profile;
  const char *profile_sha256;
  const char *resolution_sha256;
  const char *weights_sha256; ///< of weights.safetensors
  int64_t vocabulary;         ///< logits per output row
  int64_t context_length;     ///< positions that the model was made for
  int64_t weights_bytes;      ///< mapped
  int64_t kv_bytes_per_token; ///< K and V of all layers
  int64_t row_arena_bytes;    ///< per row of a step
  int64_t output_arena_bytes; ///< per output row of a step
  int32_t bos_token;          ///< -1: none
  int32_t eos_token;          ///< -1: none
  int32_t has_chat_template;
  int32_t weights_hashed; ///< 1: this open hashed the weights; 0: it trusted the stamp
  int64_t call_count;     ///< kernel calls of both phases
} writ_package_info;

/// Fills `info` up to its struct_size; the strings live as long as the package.
WRIT_API writ_status writ_package_get_info(const writ_package *package, writ_package_info *info,
                                           writ_error *error);

/// What the model's code says of itself (writ/model_abi.h), its list of calls included.
WRIT_API const struct writ_model_desc *writ_package_model(const writ_package *package);

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

typedef enum writ_tokenize_flags {
  WRIT_TOKENIZE_ADD_SPECIAL = 1,  ///< BOS and EOS as the model's metadata says
  WRIT_TOKENIZE_PARSE_SPECIAL = 2 ///< special tokens written in the text become their ids
} writ_tokenize_flags;

/// Text of `bytes` bytes to token ids: ids[0 .. *needed). `text` may be null where bytes is 0.
/// Invalid UTF-8 is no error: the tokenizer says what becomes of it.
WRIT_API writ_status writ_tokenize(const writ_package *package, const char *text, int64_t bytes,
                                   int32_t flags, int32_t *ids, int64_t capacity, int64_t *needed,
                                   writ_error *error);

/// Token ids to text. Control tokens are left out unless `special`. The bytes of the tokens as they
/// are: a sequence that ends inside a character gives text that does.
WRIT_API writ_status writ_detokenize(const writ_package *package, const int32_t *ids, int64_t count,
                                     int32_t special, char *text, int64_t capacity, int64_t *needed,
                                     writ_error *error);

/// 1 if `id` ends a generation (EOS, end of turn, the chat template's stop token), 0 if not or if
/// it is no token.
WRIT_API int32_t writ_token_ends_generation(const writ_package *package, int32_t id);

typedef struct writ_message {
  const char *role; ///< "system", "user", "assistant"
  const char *content;
} writ_message;

/// The token ids of a conversation up to where the model answers, by the model's chat template.
/// What people wrote is plain text: no content can end its turn or forge a control token. A message
/// of role "system" may stand first; without one the template's default holds. The ids begin with
/// all that the template writes, BOS included. WRIT_UNSUPPORTED, with what to do, where the model
/// has no template or one that its circuit does not declare, WRIT_INVALID_ARGUMENT where a role is
/// unknown or the template has no such turn.
WRIT_API writ_status writ_chat_tokenize(const writ_package *package, const writ_message *messages,
                                        int64_t count, int32_t *ids, int64_t capacity,
                                        int64_t *needed, writ_error *error);

/// The same conversation as text, to be shown. Tokenizing this text instead would let its content
/// forge control tokens.
WRIT_API writ_status writ_chat_render(const writ_package *package, const writ_message *messages,
                                      int64_t count, char *text, int64_t capacity, int64_t *needed,
                                      writ_error *error);

//===----------------------------------------------------------------------===//
// Session
//===----------------------------------------------------------------------===//

typedef struct writ_session writ_session;

#define WRIT_ISA_BEST (-1)

typedef struct writ_session_options {
  size_t struct_size;
  int64_t context_tokens; ///< longest sequence; 0: min(4096, the model's context length)
  int64_t max_rows;       ///< rows of one run of the model, and so the prefill chunk; 0: 512
  int64_t max_sequences;  ///< sequences that live at one time; 0: 1
  int64_t max_outputs;    ///< rows of one step that may want logits; 0: max_sequences
  int64_t kv_tokens; ///< tokens of KV memory shared by all sequences, rounded up to whole pages;
                     ///< 0: each sequence can reach context_tokens
  int64_t page_size; ///< tokens of one KV page; 0: 32
  int32_t threads;   ///< the caller's included; 0: writ_processor_count()
  int32_t isa;       ///< a writ_isa, which the machine must have; WRIT_ISA_BEST
  uint64_t page_order_seed; ///< for tests: not 0 hands pages out in a shuffled order
  int32_t poison; ///< for tests: fresh and recycled pages, and the arenas before each run, are NaN
  int32_t pin;    ///< 1: binds each thread to a processor of its own, in the order of the calling
                  ///< thread's affinity mask; the caller of a step for the step alone
  writ_trace trace; ///< called after each kernel, on the calling thread; may be null
  void *trace_user;
} writ_session_options;

/// The instruction set of the body that ran last, where it is one of the provider's; -1 otherwise
/// (a kernel without units runs no body). To be asked from a trace callback about its own call.
WRIT_API int32_t writ_traced_isa(const struct writ_step *step, const writ_provider *provider);

/// Sets struct_size and the defaults.
WRIT_API void writ_session_options_init(writ_session_options *options);

/// What a session takes, in bytes. All of it is allocated when the session is created, and nothing
/// later.
typedef struct writ_memory_plan {
  size_t struct_size;
  int64_t weights_bytes;      ///< mapped read-only, shared by all sessions and processes
  int64_t kv_bytes_per_token; ///< of all groups of layers
  int64_t kv_pages;           ///< pages of each group
  int64_t kv_bytes;           ///< K and V planes of all groups
  int64_t row_arena_bytes;    ///< activations: the model's bytes per row * max_rows
  int64_t output_arena_bytes; ///< logits and what leads to them: bytes per output row * max_outputs
  int64_t sampler_bytes;      ///< scratch of sampling
  int64_t table_bytes;        ///< block tables, page lists, token histories, row lists
  int64_t session_bytes;      ///< the sum without the weights
  int64_t partial_bytes;      ///< states of parts of attention's keys; of several threads
} writ_memory_plan;

/// The plan that writ_session_create would follow; allocates nothing.
WRIT_API writ_status writ_plan_memory(const writ_package *package,
                                      const writ_session_options *options, writ_memory_plan *plan,
                                      writ_error *error);

/// Creates a session and starts its threads. The package must outlive it. On failure `*session` is
/// null. Errors: an option out of range or above the model's context length, or `pin` with more
/// threads than processors (WRIT_INVALID_ARGUMENT), an instruction set that the machine lacks, or
/// threads that the system does not bind (WRIT_UNSUPPORTED),
/// WRIT_OUT_OF_MEMORY.
WRIT_API writ_status writ_session_create(const writ_package *package,
                                         const writ_session_options *options,
                                         writ_session **session, writ_error *error);

/// Ends the threads and frees the memory; null is allowed. No call may be in progress on it
/// (WRIT_BUSY).
WRIT_API writ_status writ_session_destroy(writ_session *session, writ_error *error);

/// The options with every default replaced by the value in use. Fills up to struct_size.
WRIT_API writ_status writ_session_get_options(const writ_session *session,
                                              writ_session_options *options, writ_error *error);
/// What was allocated, counted from the allocations themselves.
WRIT_API writ_status writ_session_get_memory(const writ_session *session, writ_memory_plan *memory,
                                             writ_error *error);
/// Uses `threads` of the session's threads from the next step on, in 1 .. those it was created
/// with. The bits do not change.
WRIT_API writ_status writ_session_set_threads(writ_session *session, int32_t threads,
                                              writ_error *error);
/// KV pages that no sequence holds (of the group that has fewest).
WRIT_API int64_t writ_session_free_pages(const writ_session *session);

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// One token history with its KV. A value, to be copied freely; stale once released, and then
/// refused.
typedef struct writ_sequence {
  uint32_t slot;
  uint32_t generation; ///< never 0 in a valid handle
} writ_sequence;

/// A new, empty sequence. It holds no page yet. WRIT_OUT_OF_SEQUENCES where max_sequences live.
WRIT_API writ_status writ_sequence_create(writ_session *session, writ_sequence *sequence,
                                          writ_error *error);
/// Frees its pages; the handle is stale from here on.
WRIT_API writ_status writ_sequence_release(writ_session *session, writ_sequence sequence,
                                           writ_error *error);
/// Shortens the sequence to its first `length` tokens, 0 <= length <= its length.
WRIT_API writ_status writ_sequence_rewind(writ_session *session, writ_sequence sequence,
                                          int64_t length, writ_error *error);
/// Tokens whose K and V are held: the position of the next token.
WRIT_API writ_status writ_sequence_length(const writ_session *session, writ_sequence sequence,
                                          int64_t *length, writ_error *error);
/// The committed tokens, [*needed].
WRIT_API writ_status writ_sequence_tokens(const writ_session *session, writ_sequence sequence,
                                          int32_t *ids, int64_t capacity, int64_t *needed,
                                          writ_error *error);

//===----------------------------------------------------------------------===//
// Step
//===----------------------------------------------------------------------===//

/// One token to be appended to one sequence. Its position is implied: the sequence's length, plus
/// the number of rows of that sequence before it in the same step.
typedef struct writ_step_row {
  writ_sequence sequence;
  int32_t token;
  int32_t output; ///< not 0: its logits are wanted
} writ_step_row;

/// Appends rows[0 .. count) to their sequences: prefill chunks and decode rows of any number of
/// sequences in one step, 1 <= count <= max_rows, at most max_outputs of them with an output. All
/// or nothing: pages for every row are reserved before anything runs, and lengths change only when
/// all has run. The weights are looked at before and after. No memory is allocated. Output i is the
/// i-th row with `output` set. The outputs of the step before are gone once a step has begun to
/// run; a refused step keeps them. Errors: WRIT_INVALID_ARGUMENT, WRIT_CONTEXT_FULL,
/// WRIT_OUT_OF_PAGES, WRIT_BUSY, WRIT_IO_ERROR where weights.safetensors changed.
WRIT_API writ_status writ_session_step(writ_session *session, const writ_step_row *rows,
                                       int64_t count, writ_error *error);

typedef enum writ_outputs {
  WRIT_OUTPUTS_NONE = 0,
  WRIT_OUTPUTS_LAST = 1,
  WRIT_OUTPUTS_ALL = 2
} writ_outputs;

/// Receives the outputs of one chunk: row `first` of the fed tokens and the `count` rows from it,
/// whose logits are output 0 .. count-1 of the session (writ_session_logits,
/// writ_session_log_probabilities and writ_session_sample may be called here; nothing that changes
/// the session may). Not 0 stops.
typedef int32_t (*writ_chunk_callback)(void *user, writ_session *session, int64_t first,
                                       int64_t count);

/// Appends ids[0 .. count), of any number, to one sequence, max_rows at a time (with
/// WRIT_OUTPUTS_ALL at most max_outputs at a time). `callback` (may be null) is called after each
/// chunk, with count 0 where the chunk has no outputs. All or nothing: pages for all are reserved
/// first; where the callback or `stop` (may be null; read before each kernel, not 0 stops, may be
/// set from a signal handler or another thread) ends it, the sequence is rewound to where it was,
/// and the status is WRIT_STOPPED.
WRIT_API writ_status writ_sequence_feed(writ_session *session, writ_sequence sequence,
                                        const int32_t *ids, int64_t count, int32_t outputs,
                                        writ_chunk_callback callback, void *user,
                                        const volatile int32_t *stop, writ_error *error);

/// Outputs of the last step.
WRIT_API int64_t writ_session_output_count(const writ_session *session);
/// Logits of output `index` of the last step, f32 [vocabulary], valid until the next step begins;
/// null where there is no such output.
WRIT_API const float *writ_session_logits(const writ_session *session, int64_t index);

/// How the next token is drawn (PORTABLE.md, "Sampler"). The repetition penalty sees the last 64
/// tokens of the sequence, the prompt's included.
typedef struct writ_sampling {
  size_t struct_size;
  float temperature;    ///< 0: the largest logit, ties to the lowest id; the default
  float top_p;          ///< in (0, 1]; 1: off
  float min_p;          ///< in [0, 1]; 0: off
  float repeat_penalty; ///< above 0; 1: off
  int64_t top_k;        ///< 0: off
  uint64_t seed;
  uint64_t stream; ///< the caller's stream id; same seed, stream and position: same random number
} writ_sampling;

WRIT_API void writ_sampling_init(writ_sampling *sampling);

/// Draws one token for each of the outputs first .. first + count - 1 of the last step, with
/// sampling[0 .. count) (an array whose stride is its first element's struct_size, which all
/// elements must have; null: greedy for all). Feeding the token is the caller's business.
/// WRIT_NON_FINITE names the output whose logits are not finite, and then no token is written.
WRIT_API writ_status writ_session_sample(writ_session *session, int64_t first, int64_t count,
                                         const writ_sampling *sampling, int32_t *tokens,
                                         writ_error *error);

/// Log-probability (natural, f32) of tokens[i] in output first + i, for i in 0 .. count - 1.
WRIT_API writ_status writ_session_log_probabilities(writ_session *session, int64_t first,
                                                    int64_t count, const int32_t *tokens,
                                                    float *log_probabilities, writ_error *error);

//===----------------------------------------------------------------------===//
// Generate
//===----------------------------------------------------------------------===//

/// Receives text as it is made: whole UTF-8 characters, zero or more bytes. Text that may be the
/// beginning of a stop string is held back until it is known not to be. Not 0 stops.
typedef int32_t (*writ_text_callback)(void *user, const char *text, int64_t bytes);

typedef struct writ_generate_options {
  size_t struct_size;
  int64_t max_tokens;            ///< tokens to generate, 0 allowed; default 64
  const writ_sampling *sampling; ///< null: greedy
  const char *const *stop_strings;
  int64_t stop_count;
  int32_t ignore_end; ///< go on after an end-of-generation token
  int32_t reserved;
  writ_text_callback callback; ///< may be null
  void *user;
  const volatile int32_t *stop; ///< may be null; read before each kernel; not 0 stops
  int32_t *tokens;              ///< may be null: where the generated ids go, [max_tokens]
} writ_generate_options;

WRIT_API void writ_generate_options_init(writ_generate_options *options);

typedef enum writ_finish {
  WRIT_FINISH_LENGTH = 0,  ///< max_tokens
  WRIT_FINISH_END = 1,     ///< an end-of-generation token
  WRIT_FINISH_STRING = 2,  ///< a stop string
  WRIT_FINISH_CONTEXT = 3, ///< the sequence reached context_tokens
  WRIT_FINISH_STOPPED = 4  ///< the callback or the stop flag
} writ_finish;

typedef struct writ_generate_result {
  size_t struct_size;
  int32_t finish; ///< a writ_finish
  int32_t reserved;
  int64_t prompt_tokens;    ///< fed from the prompt
  int64_t generated_tokens; ///< drawn, an end-of-generation token included
  int64_t prefill_nanoseconds;
  int64_t decode_nanoseconds; ///< of the steps and draws after the prompt
  int64_t decode_steps;       ///< runs of the model after the prompt
} writ_generate_result;

/// Feeds the prompt ids[0 .. count), count >= 1, and draws tokens until something ends it. The
/// sequence then holds the prompt and all drawn tokens but the last. A prompt that does not fit
/// (WRIT_CONTEXT_FULL, WRIT_OUT_OF_PAGES), and options that cannot be used, are refused before
/// anything is done; a stop during the
/// prompt rewinds the sequence, with WRIT_FINISH_STOPPED and WRIT_OK. A failure later keeps what
/// was generated, and `result` (may be null) says how much.
WRIT_API writ_status writ_generate(writ_session *session, writ_sequence sequence,
                                   const int32_t *ids, int64_t count,
                                   const writ_generate_options *options,
                                   writ_generate_result *result, writ_error *error);

#ifdef __cplusplus
}
#endif
#endif
