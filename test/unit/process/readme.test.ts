import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
const snippets = [...readme.matchAll(/```sh\n(.*?)```/gs)].map(([, commands]) => commands as string)

describe('a snippet of the README', () => {
  it('has no placeholder, and no comment, which zsh takes for a command when it is pasted', () => {
    expect(snippets.length).toBeGreaterThan(20)
    const lines = snippets.flatMap(snippet => snippet.split('\n'))
    expect(lines.filter(line => /…|(^|\s)#/.test(line))).toEqual([])
  })

  describe('that reads the demo key', () => {
    const [readKeyLine = ''] = snippets.flatMap(snippet => /^KEY=\$\([^)]*\)$/m.exec(snippet)?.[0] ?? [])
    let home: string

    beforeAll(() => {
      home = mkdtempSync(join(tmpdir(), 'berth-home-'))
    })

    afterAll(() => rmSync(home, { recursive: true }))

    it.each(['.local/share/berth/demo-key', 'Library/Application Support/Berth/demo-key'])('finds it in %s', path => {
      const file = join(home, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, 'berth_1_secret')
      const key = execFileSync('bash', ['-euc', `${readKeyLine}\necho "$KEY"`], { env: { ...process.env, HOME: home } })
      expect(String(key)).toBe('berth_1_secret\n')
      rmSync(file)
    })
  })
})
