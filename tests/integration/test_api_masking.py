"""api.masking: the masker for programs that want to use it themselves."""
import json

import pytest

import secrets_corpus

SECRET = secrets_corpus.with_crc(secrets_corpus.Maker(9), "ghp_")

PROGRAM = """
import json
from api.masking import mask_secrets, detect_secrets, mask_result, PIIDetector
secret = '%s'[::-1]
mail = 'ann@' + 'example.com'
text = f'ä {secret} – {mail}\\nsecond {secret}'
found = detect_secrets(text, aggressive=True)
only = PIIDetector(['email'])
open('f.txt', 'w').write(text)
result = {
    'masked': mask_secrets(text),
    'all': mask_secrets(text, aggressive=True),
    'types': [f['type'] for f in found],
    'whole': [text[f['start']:f['end']] in (secret, mail) and f['match'] == text[f['start']:f['end']] for f in found],
    'lines': [f['line'] for f in found],
    'value': mask_result({secret: [secret, (mail, 1)], 'n': {2}}, aggressive=True) == {'[REDACTED_GITHUB_TOKEN]': ['[REDACTED_GITHUB_TOKEN]', ('[EMAIL_REDACTED]', 1)], 'n': {2}},
    'only': only.mask(text)[0].count('[EMAIL_REDACTED]') == 1 and secret in only.mask(text)[0],
    'some': PIIDetector().mask(text, ['github_token'])[0].count('[REDACTED_GITHUB_TOKEN]') == 2 and mail in PIIDetector().mask(text, ['github_token'])[0],
    'file': PIIDetector().scan_file('f.txt')['types'],
    'missing': PIIDetector().scan_file('no')['status'],
    'surrogate': mask_secrets('\\ud800 ' + secret) == '\\ud800 [REDACTED_GITHUB_TOKEN]',
    'empty': (mask_secrets(''), detect_secrets('')),
}
print(json.dumps(result))
""" % SECRET[::-1]


@pytest.mark.parametrize("profile", ["standard", "marketplace", "open"])
def test_what_it_finds(who, profile):
    answer = who.run(PROGRAM.replace("open('f.txt', 'w').write(text)", "from api import filesystem; filesystem.write_file('f.txt', text)"), profile=profile)
    assert answer.json["status"] == "success", answer
    found = json.loads(answer.json["stdout"])
    assert found["masked"] == "ä [REDACTED_GITHUB_TOKEN] – ann@example.com\nsecond [REDACTED_GITHUB_TOKEN]"
    assert found["all"] == "ä [REDACTED_GITHUB_TOKEN] – [EMAIL_REDACTED]\nsecond [REDACTED_GITHUB_TOKEN]"
    assert found["types"] == ["github_token", "email", "github_token"] and found["whole"] == [True] * 3 and found["lines"] == [1, 1, 2]
    assert all(found[key] is True for key in ("value", "only", "some", "surrogate")), found
    assert found["file"] == ["email", "github_token"] and found["missing"] == "error" and found["empty"] == ["", []]
