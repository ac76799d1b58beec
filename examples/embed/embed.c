/* Continues a text with a package, through the C API alone.
 *
 *   cc -std=c11 -I$WRIT/include embed.c -L$WRIT/lib -lwrit_runtime -Wl,-rpath,$WRIT/lib -o embed
 *   ./embed PACKAGE "The capital of France is"
 *
 * WRIT is the folder that holds include/ and lib/: the build folder, or where Writ is installed.
 */
#include "writ/writ.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t print_text(void *user, const char *text, int64_t bytes) {
  (void)user;
  fwrite(text, 1, (size_t)bytes, stdout);
  return fflush(stdout); /* not 0 stops the generation */
}

static void require(writ_status status, const writ_error *error) {
  if (status == WRIT_OK)
    return;
  fprintf(stderr, "%s: %s\n", writ_status_name(status), error->text);
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: embed PACKAGE TEXT\n");
    return 2;
  }
  writ_error error;
  writ_package *package;
  require(writ_package_open(argv[1], NULL, &package, &error), &error);

  int32_t ids[512];
  int64_t count;
  require(writ_tokenize(package, argv[2], (int64_t)strlen(argv[2]), WRIT_TOKENIZE_ADD_SPECIAL, ids,
                        512, &count, &error),
          &error);

  writ_session *session;
  require(writ_session_create(package, NULL, &session, &error), &error);
  writ_sequence sequence;
  require(writ_sequence_create(session, &sequence, &error), &error);

  writ_generate_options options;
  writ_generate_options_init(&options);
  options.max_tokens = 16;
  options.callback = print_text;
  require(writ_generate(session, sequence, ids, count, &options, NULL, &error), &error);
  putchar('\n');

  require(writ_session_destroy(session, &error), &error);
  require(writ_package_close(package, &error), &error);
  return 0;
}
