"""A package whose residual gives other bits where more than one thread runs it: what a check of bits must see."""
import pathlib
import re
import shutil
import subprocess

POOL = pathlib.Path(__file__).parents[2] / "runtime" / "src" / "pool" / "thread_pool.cpp"
OP = "blk.0.attn_residual"
# The first row of each chunk but the first; one thread alone has one chunk.
BROKEN = """
void broken_body(const void *args, int64_t begin, int64_t end) {
  PROVIDER_scalar(args, begin, end);
  const auto &at = *static_cast<const PROVIDER_args *>(args);
  if (begin > 0 && begin < end)
    static_cast<unsigned char *>(at.out)[4 * begin * at.n + 20] ^= 1;
}
const writ_provider broken_provider = {"PROVIDER", "", {broken_body}};
void broken_threaded(const writ_step *step, uint32_t call, const PROVIDER_args &args) {
  writ_launch(step, call, &broken_provider, &args, args.rows, 1);
}
"""


CHUNKS = int(re.search(r"kChunks = (\d+);", POOL.read_text())[1])


def first_wrong_position(rows, threads):
    """Of a step of `rows` rows that begins at position 0: where the second chunk of the first thread's rows begins."""
    return -(-(-(-rows // threads)) // CHUNKS)


def break_residual(package, root, *options):
    """Rewrites the code of a package and builds it, with these options of cmake."""
    source = package / "src" / "model.cpp"
    text = source.read_text()
    call = text.split(": residual\n", 1)[1].split("_threaded(", 1)
    provider = call[0].strip()
    text = text.replace(f"{provider}_threaded(", "broken_threaded(")
    text = text.replace("namespace {\n", "namespace {\n" + BROKEN.replace("PROVIDER", provider), 1)
    source.write_text(text)
    quiet = {"check": True, "capture_output": True}
    shutil.rmtree(package / "build", ignore_errors=True)
    subprocess.run(["cmake", "-S", package, "-B", package / "build", f"-DWRIT_ROOT={pathlib.Path(root)}",
                    f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={package}/lib", *options], **quiet)
    subprocess.run(["cmake", "--build", package / "build"], **quiet)
