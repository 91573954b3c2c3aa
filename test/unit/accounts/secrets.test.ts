import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
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
})
