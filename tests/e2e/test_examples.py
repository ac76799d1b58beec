"""The programs of examples/ build as their comments say, and do what they say."""
import hashlib
import json
import re
import shutil
import subprocess
import sys

import harness
from harness import BUILD, SOURCE, TestCase, tiny_package

EXAMPLES = SOURCE / "examples"
LINES = ["hello", "and then?", "", "the end"]


class Chat(TestCase):
    def program(self):
        """Built by the command that its comment gives."""
        self.need_plain_libraries()
        source = EXAMPLES / "chat" / "chat.c"
        command = re.search(r"^ \*   (cc .*)$", source.read_text(), re.M)[1]
        out = self.folder()
        shutil.copy(source, out)
        words = command.replace("$WRIT", str(BUILD)).split()
        subprocess.run([*words, "-Wall", "-Wextra", "-Werror"], cwd=out, check=True)
        return out / "chat"

    def package(self):
        """The smallest family with a template of plain text, so that a conversation is a text too."""
        template, data, out = "no tool runs this text", self.data(), self.folder()
        shutil.copy(EXAMPLES / "smallest_circuit" / "smallest.json", data / "circuits")
        harness.replace(data / "circuits" / "smallest.json", '"sections": [',
                        '"chat_templates": ["plain"],\n  "sections": [')  # fmt: skip
        turn = {role: {"prefix": f"{role}: ", "suffix": "\n"} for role in ("system", "user", "assistant")}
        (data / "circuits" / "chat" / "plain.json").write_text(json.dumps({
            "name": "plain", "sha256": hashlib.sha256(template.encode()).hexdigest(), "begin": "",
            "turn": turn, "default_system": None, "generation_prompt": "assistant: ", "stop": "<|end|>"}))  # fmt: skip
        subprocess.run([sys.executable, EXAMPLES / "smallest_circuit" / "make_model.py", out / "model.gguf",
                        "--chat-template", template], check=True)  # fmt: skip
        self.writ("compile", out / "model.gguf", "--bringup", "--data", data, "-o", out / "package")
        return out / "package"

    def test_S6_EachAnswerIsThatOfTheWholeConversation(self):
        package = self.package()
        done = subprocess.run([self.program(), package, "8"], input="\n".join(LINES).encode(),
                              capture_output=True, check=True)  # fmt: skip
        answers, text = done.stdout.decode().split("\n")[:-1], ""
        self.assertEqual(len(answers), len(LINES))
        self.assertEqual(len(set(answers)), len(LINES), "each answer is another one")
        for line, answer in zip(LINES, answers):
            text += f"user: {line}\nassistant: "
            whole, _ = self.writ("run", package, "--max-tokens", "8", stdin=text.encode())
            self.assertEqual(answer + "\n", whole)
            text += answer + "\n"
        turns = [(int(held), int(fed)) for held, fed in
                 re.findall(r"\[(\d+) tokens of the conversation were held, (\d+) were fed\]", done.stderr.decode())]
        self.assertEqual(turns[0][0], 0)
        for (held, fed), (held_next, _) in zip(turns, turns[1:]):
            self.assertGreaterEqual(held_next, held + fed, "what was said is not fed again")

    def test_APackageWithoutATemplateIsRefused(self):
        done = subprocess.run([self.program(), tiny_package()], input=b"hello\n", capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, b"")
        self.assertIn("unsupported: ", done.stderr.decode())


if __name__ == "__main__":
    harness.main()
