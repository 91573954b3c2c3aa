import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { replaceSecret } from '../../../src/services/sealing/file.ts'
import { createSecrets, loadOrCreateSecret } from '../../../src/services/secrets.ts'

describe('a sealed secret', () => {
  const secrets = createSecrets('a secret of tests')

  it('opens only with the same key, and differs each time it is sealed', () => {
    const sealed = secrets.seal('pass wörd')
    expect(secrets.open(sealed)).toBe('pass wörd')
    expect(sealed.equals(secrets.seal('pass wörd'))).toBe(false)
    expect(sealed.toString('latin1')).not.toContain('pass')
    expect(() => createSecrets('another').open(sealed)).toThrow()
  })

  it('does not open after one bit changed', () => {
    const sealed = secrets.seal('password')
    sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1
    expect(() => secrets.open(sealed)).toThrow()
  })
})

describe('a secret that another one has replaced', () => {
  const [old, next] = [createSecrets('a secret of tests'), createSecrets('the next secret')]
  const digest = old.digest('purpose', 'text')
  const before = next.seal('before')
  next.continueWith(old.digestKey)

  it('makes the same digests, which the new one alone does not', () => {
    expect(next.digest('purpose', 'text')).toEqual(digest)
    expect(createSecrets('the next secret').digest('purpose', 'text')).not.toEqual(digest)
  })

  it('is not named by the values of a database whose secret was never changed, so that older versions read them', () => {
    expect([old.isChanged, old.seal('text').length]).toEqual([false, 12 + 16 + 4])
  })

  it('is told from the new one by how values begin', () => {
    const sealed = next.seal('text')
    expect(sealed.subarray(0, 8)).toEqual(next.keyId)
    expect(next.keyId.equals(old.keyId)).toBe(false)
    expect([next.open(sealed), next.open(before), createSecrets('the next secret').open(sealed)]).toEqual([
      ...['text', 'before', 'text'],
    ])
    expect(() => old.open(sealed)).toThrow()
  })
})

describe('the secret of a data folder', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-secret-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('is created once, readable only by its owner', async () => {
    const file = join(folder, 'secret')
    const made = await loadOrCreateSecret(file)
    expect(made).toMatch(/^[0-9a-f]{64}$/)
    expect(await loadOrCreateSecret(file)).toBe(made)
    expect([(await stat(file)).mode & 0o777, await readdir(folder)]).toEqual([0o600, ['secret']])
  })

  it('is never replaced, even when it cannot be read', async () => {
    await expect(loadOrCreateSecret(folder)).rejects.toThrow('EISDIR')
    const file = join(folder, 'secret')
    await writeFile(file, '')
    await chmod(file, 0o600)
    await expect(loadOrCreateSecret(file)).rejects.toThrow('is empty')
    expect(await readFile(file, 'utf8')).toBe('')
  })

  it('is replaced by one that was on the disk before, and becomes that of the database in between', async () => {
    const file = join(folder, 'secret')
    const old = await loadOrCreateSecret(file)
    const changed = await replaceSecret(file, async (from, to) => {
      expect([await readFile(file, 'utf8'), await readFile(`${file}.next`, 'utf8')]).toEqual([from, to])
      return [from, to]
    })
    expect(changed).toEqual([old, expect.stringMatching(/^[0-9a-f]{64}$/)])
    expect(await loadOrCreateSecret(file)).toBe(changed[1])
    expect(changed[1]).not.toBe(old)
    expect([(await stat(file)).mode & 0o777, await readdir(folder)]).toEqual([0o600, ['secret']])
  })

  it('is replaced by the same one if the command is repeated, wherever it was killed', async () => {
    const file = join(folder, 'secret')
    const old = await loadOrCreateSecret(file)
    const asked: string[][] = []
    const killed = replaceSecret(file, async (...secrets) => {
      asked.push(secrets)
      throw new Error('killed')
    })
    await expect(killed).rejects.toThrow('killed')
    expect(await loadOrCreateSecret(file)).toBe(old)
    await replaceSecret(file, async (...secrets) => void asked.push(secrets))
    expect(asked[1]).toEqual(asked[0])
    expect(await loadOrCreateSecret(file)).toBe(asked[0]?.[1])
  })

  it('is not replaced by a part of one', async () => {
    const file = join(folder, 'secret')
    await writeFile(`${file}.next`, 'abc', { mode: 0o600 })
    await replaceSecret(file, async () => {})
    expect(await loadOrCreateSecret(file)).toMatch(/^[0-9a-f]{64}$/)
  })

  it('is not looked for behind a link that somebody has put there', async () => {
    const file = join(folder, 'secret')
    await loadOrCreateSecret(file)
    await symlink('/etc/hostname', `${file}.next`)
    await expect(replaceSecret(file, async () => {})).rejects.toThrow('ELOOP')
  })
})
