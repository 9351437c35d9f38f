"""The emergency exit's file: its modules as one script, and the policy that lets that script run."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from scripts.build_exit import UnbundledError, deployments_text, modules, page_text, script_text


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.js").write_text(text)
    return folder / "main.js"


def test_modules__stand_after_what_they_import(tmp_path: Path) -> None:
    main = written(
        tmp_path,
        main='import { a } from "./a.js";\nimport {\n  b,\n} from "./b.js";\n',
        a='import { b } from "./b.js";\n',
        b="",
    )

    assert [file.name for file in modules(main)] == ["b.js", "a.js", "main.js"]


def test_the_script__has_neither_imports_nor_exports(tmp_path: Path) -> None:
    main = written(
        tmp_path,
        main='import { f } from "./f.js";\nf();\n',
        f='export { g } from "./g.js";\nexport function f() {}\n',
        g="export const g = 1;\nexport class G {}\nexport async function h() {}\n",
    )

    assert script_text(main) == (
        "\nconst g = 1;\nclass G {}\nasync function h() {}\n\nfunction f() {}\n\nf();\n"
    )


@pytest.mark.parametrize(
    ("main", "other", "said"),
    [
        ('import { a } from "./a.js";\nconst same = 1;\n', "const same = 2;\n", "same"),
        ('import * as a from "./a.js";\n', "", "import"),
        ('import { a } from "./a.js";\n', "export default 1;\n", "export default"),
        ('import { a } from "./a.js";\n', 'const t = "</script>";\n', "a tag in a text"),
        ('import { a } from "./a.js";\n', 'import { b } from "./main.js";\n', "imports itself"),
    ],
    ids=["declared-twice", "namespace", "default", "tag", "circle"],
)
def test_what_cannot_be_put_into_one_script__is_refused(
    tmp_path: Path, main: str, other: str, said: str
) -> None:
    with pytest.raises(UnbundledError, match=said):
        script_text(written(tmp_path, main=main, a=other))


def test_the_policy__names_the_hash_of_the_one_script_and_style_and_allows_no_request() -> None:
    page = page_text()
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    scripts = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    hashes = [
        "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (*scripts, *styles)
    ]

    wanted = (
        f"default-src 'none'; script-src '{hashes[0]}'; style-src '{hashes[1]}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )
    assert (policy, len(hashes)) == ([wanted], 2)


def test_no_module_of_the_page__writes_html() -> None:
    sinks = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc"

    assert re.findall(sinks, script_text()) == []


def test_published_deployments__are_known_to_the_page(tmp_path: Path) -> None:
    contracts = [
        {"name": "usdc", "address": "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "block": 1},
        {"name": "factory", "address": "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512", "block": 39},
    ]
    (tmp_path / "sepolia.json").write_text(json.dumps({"chain_id": 84532, "contracts": contracts}))
    found = json.loads(deployments_text(tmp_path).split(" = ")[1].rstrip(";\n"))

    assert found == [
        {"chainId": 84532, "factory": "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512", "block": 39}
    ]
