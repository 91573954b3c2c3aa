import ssh2 from 'ssh2'
import { expect, it } from 'vitest'
import { createHostKey, hostKeyFingerprint } from '../../../src/ssh/host-key.ts'

it('makes another host key if one cannot be read', () => {
  const good = createHostKey()
  const lines = good.split('\n')
  const damaged = [lines[0], 'AAAA', ...lines.slice(2)].join('\n')
  expect(ssh2.utils.parseKey(damaged)).toBeInstanceOf(Error)
  const made = [damaged, good]
  expect(createHostKey(() => made.shift() as string)).toBe(good)
  expect(hostKeyFingerprint(good)).toMatch(/^SHA256:[\w+/]{43}$/)
})
