// Counts tokens: one JSON array of texts a line in, one array of [o200k, cl100k, claude_legacy] a line out.
// With --check, o200k comes from the second implementation.
import { createInterface } from 'node:readline';
import { countTokens as claude } from '@anthropic-ai/tokenizer';
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { getEncoding } from 'js-tiktoken';

// What looks like a mark of a model's own is text here.
const plain = { disallowedSpecial: new Set() };
const second = process.argv.includes('--check') ? getEncoding('o200k_base') : null;

function count(text) {
  const first = second ? second.encode(text, [], []).length : o200k(text, plain);
  return [first, cl100k(text, plain), claude(text)];
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity }))
  console.log(JSON.stringify(JSON.parse(line).map(count)));
