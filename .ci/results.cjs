// Reads what the test runs have reported. `failed-files FILE` prints the files with failed tests; `count STEPS NAMES...` prints how
// the run went, where STEPS steps failed. A file that ran once more counts as it did then.
const { existsSync, readFileSync } = require('node:fs')
const { relative } = require('node:path')

const say = line => void process.stdout.write(`${line}\n`)
const hasFailed = ({ status }) => status === 'failed'

function read(file) {
  if (!existsSync(file)) return []
  return JSON.parse(readFileSync(file, 'utf8')).testResults.map(one => ({ ...one, file: relative('', one.name) }))
}

function print(what, { file, message, assertionResults }) {
  say(`${what}: ${file} ${message}`)
  for (const { fullName, failureMessages } of assertionResults.filter(hasFailed))
    say(`  ${fullName}\n${failureMessages.join('\n').slice(0, 2_000)}`)
}

function count(steps, names) {
  let [passed, failed] = [0, 0]
  for (const name of names) {
    const again = read(`${name}-again.json`)
    for (const first of read(`${name}.json`)) {
      const last = again.find(({ file }) => file === first.file) ?? first
      const failures = last.assertionResults.filter(hasFailed).length
      passed += last.assertionResults.filter(({ status }) => status === 'passed').length
      failed += hasFailed(last) ? Math.max(failures, 1) : 0
      if (hasFailed(last)) print('failed', last)
      else if (hasFailed(first)) print('failed beside other tests, and passed alone', first)
    }
  }
  failed = Math.max(failed, steps)
  say(`${passed} passed, ${failed} failed`)
  process.exitCode = failed > 0 ? 1 : 0
}

const [action, first, ...rest] = process.argv.slice(2)
if (action === 'failed-files') for (const { file } of read(first).filter(hasFailed)) say(file)
if (action === 'count') count(Number(first), rest)
