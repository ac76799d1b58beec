"""One row in a step, and ten thousand: the bits of the logits are those of steps of any other size."""
import json

from harness import TestCase, main, package, random_model

ROWS = 10_000


class RowCounts(TestCase):
    def test_S3_TenThousandRowsInOneStep(self):
        built = package(random_model("--layers", "1", "--context", str(ROWS), name="long-context"), "--bringup")
        ids = self.folder() / "ids"
        ids.write_text(json.dumps([3 + 7 * i * i % 250 for i in range(ROWS)]))
        said = [json.loads(self.writ("score", built, "--ids", ids, "--json", "--chunk", chunk, "--threads", threads)[0])
                for chunk, threads in (("whole", "2"), ("512", "1"))]  # fmt: skip
        self.assertEqual([each["rows"] for each in said], [ROWS, ROWS])
        self.assertEqual(said[0]["logits_sha256"], said[1]["logits_sha256"])

    def test_S3_OneRowInEachStep(self):
        built = package(random_model(), "--bringup")
        ids = self.folder() / "ids"
        ids.write_text(json.dumps([3 + 11 * i % 250 for i in range(70)]))
        said = [json.loads(self.writ("score", built, "--ids", ids, "--json", "--chunk", chunk)[0])["logits_sha256"]
                for chunk in ("1", "whole")]  # fmt: skip
        self.assertEqual(said[0], said[1])


if __name__ == "__main__":
    main()
