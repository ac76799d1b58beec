/* The functions of libm that ggml takes of binary32, each as binary64's rounded once: put before
 * the pinned llama.cpp with LD_PRELOAD, they take out of a comparison what the C library decides.
 * scripts/evidence/ggml_model.py builds it. */
#include <math.h>

float cosf(float x) {
  return (float)cos((double)x);
}
float sinf(float x) {
  return (float)sin((double)x);
}
void sincosf(float x, float *sine, float *cosine) { /* what GCC makes of the two of one argument */
  *sine = (float)sin((double)x);
  *cosine = (float)cos((double)x);
}
float powf(float x, float y) {
  return (float)pow((double)x, (double)y);
}
float tanhf(float x) {
  return (float)tanh((double)x);
}
