/* writ.h is a C header, and works from C. */
#include "writ/writ.h"

#include "writ/model_abi.h"

const char *writ_test_open_nothing(writ_error *error) {
  writ_package *package = 0;
  writ_open_options options;
  writ_open_options_init(&options);
  if (writ_package_open("/nonexistent", &options, &package, error) == WRIT_OK)
    return "opened";
  return package ? "package set" : error->text;
}
