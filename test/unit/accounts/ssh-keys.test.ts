import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  areSameKeys,
  canChangeSshKeys,
  parsePublicKey,
  sshKeyName,
  sshKeyNameProblem,
} from '../../../src/domain/accounts/ssh-keys.ts'
import { fingerprintOf } from '../../../src/services/accounts/ssh-keys/create.ts'
import { keyLine, privateKeys, wirePart } from '../../support/accounts/ssh-keys.ts'

type Vector = { line: string; fingerprint: string }
// ssh-keygen created the keys and fingerprints. The hardware keys were assembled from the other keys.
const vectors = JSON.parse(readFileSync(new URL('../../data/ssh-keys.json', import.meta.url), 'utf8'))
const { rsa1024, dsa, certificate, ...good } = vectors as Record<string, Vector>
const lineOf = (name: string) => (vectors as Record<string, Vector>)[name]?.line ?? ''
const [ed25519, ecdsa256] = [lineOf('ed25519'), lineOf('ecdsa256')]
const blobOf = (line: string) => Buffer.from(line.split(' ')[1] ?? '', 'base64')
const bare = (line: string) => line.split(' ').slice(0, 2).join(' ')

const damaged = 'is damaged or cut off'
const point = blobOf(ecdsa256).subarray(-65)
const seed = blobOf(ed25519).subarray(-32)
const e = Buffer.from([1, 0, 1])
const modulus = (bits: number) => {
  const bytes = Buffer.alloc(bits / 8, 0xff)
  return Buffer.concat([Buffer.from([0]), bytes])
}

describe('a public key', () => {
  it.each(Object.entries(good))('of type %s is accepted, with the fingerprint that ssh-keygen prints', (_, vector) => {
    const key = parsePublicKey(vector.line)
    if (typeof key === 'string') throw new Error(key)
    expect(`${key.publicKey} ${key.comment}`.trim()).toBe(vector.line.trim())
    expect(fingerprintOf(key.blob)).toBe(vector.fingerprint)
    expect(Buffer.from(key.blob)).toEqual(blobOf(vector.line))
  })

  it.each([
    ['blanks around it', `  ${ed25519}\n`],
    ['a Windows line ending', `${ed25519}\r\n`],
    ['several blanks between its parts', ed25519.replaceAll(' ', ' \t ')],
    ['a byte order mark before it', `\ufeff${ed25519}`],
  ])('may have %s', (_, text) => {
    expect(parsePublicKey(text)).toMatchObject({ publicKey: bare(ed25519), comment: 'anna@laptop' })
  })

  it.each([
    ['', ''],
    ['   ', ''],
    [' two words', 'two words'],
    [' Zoë’s  laptop #1 ', 'Zoë’s  laptop #1'],
  ])('followed by "%s" has the comment "%s"', (end, comment) => {
    expect(parsePublicKey(bare(ed25519) + end)).toMatchObject({ comment, publicKey: bare(ed25519) })
  })

  it('may have an RSA modulus of 2048 to 16384 bits', () => {
    for (const bits of [2_048, 16_384]) {
      expect(parsePublicKey(keyLine('ssh-rsa', e, modulus(bits)))).toHaveProperty('publicKey')
    }
    expect(parsePublicKey(keyLine('ssh-rsa', e, modulus(2_040)))).toContain('an RSA key of 2040 bits')
    expect(parsePublicKey(keyLine('ssh-rsa', e, Buffer.concat([Buffer.from([0x7f]), Buffer.alloc(255)])))).toContain(
      'of 2047 bits',
    )
    expect(parsePublicKey(keyLine('ssh-rsa', e, modulus(16_392)))).toContain('an RSA key of 16392 bits')
    expect(parsePublicKey(rsa1024?.line ?? '')).toContain('an RSA key of 1024 bits; the minimum is 2048')
  })
})

describe('a public key', () => {
  const cut = (line: string, bytes: number) => `ssh-ed25519 ${blobOf(line).subarray(0, -bytes).toString('base64')}`
  const joined = (...parts: Uint8Array[]) => `ssh-ed25519 ${Buffer.concat(parts).toString('base64')}`

  it.each<[string, string, string]>([
    ['empty', '', 'must be a public key in the OpenSSH format'],
    ['a word', 'hello', 'must be a public key in the OpenSSH format'],
    ['the name of a property of every object', 'constructor AAAA', 'must be a public key in the OpenSSH format'],
    ['the key without its type', bare(ed25519).split(' ')[1] ?? '', 'must be a public key in the OpenSSH format'],
    ['an SSH 1 key', '2048 65537 2519590847565789349402718324004839857', 'must be a public key in the OpenSSH format'],
    ['options', `no-pty ${ed25519}`, 'without options before it'],
    ['options with blanks', `command="echo 'a b'",from="10.0.0.0/8" ${ed25519}`, 'without options before it'],
    ['two keys', `${ed25519}\n${ecdsa256}`, 'must be one key, on one line'],
    ['a key that is broken into lines', ed25519.replace('/', '/\n'), 'must be one key, on one line'],
    [
      'two lines with a separator that only some programs know',
      `${bare(ed25519)} a\u2028${ed25519}`,
      'must be one key, on one line',
    ],
    ['a bell', `${bare(ed25519)} a\x07b`, 'must be one key, on one line'],
    ['a NUL', `${bare(ed25519)} a\0b`, 'well-formed Unicode without NUL'],
    ['a lone surrogate', `${bare(ed25519)} \ud800`, 'well-formed Unicode without NUL'],
    ['more than 16 KB', `${bare(ed25519)} ${'a'.repeat(16_384)}`, 'at most 16384 characters'],
    ['a DSA key', dsa?.line ?? '', 'is a DSA key'],
    ['a certificate', certificate?.line ?? '', 'is a certificate'],
    [
      'a public key in PEM',
      '-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----',
      'ssh-keygen -i -m PKCS8 -f FILE',
    ],
    [
      'an RSA key in PEM',
      '-----BEGIN RSA PUBLIC KEY-----\nMCow\n-----END RSA PUBLIC KEY-----',
      'ssh-keygen -i -m PEM -f FILE',
    ],
    [
      'a public key in the SSH2 format',
      '---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----',
      'ssh-keygen -i -f FILE',
    ],
    ['a type alone', 'ssh-ed25519', damaged],
    ['a type and a comment', 'ssh-ed25519 laptop', damaged],
    ['not base64', `${bare(ed25519).slice(0, -1)}* a`, damaged],
    ['base64 without padding', bare(ecdsa256).replace(/=+$/, ''), damaged],
    ['URL-safe base64', bare(ed25519).replaceAll('+', '-').replaceAll('/', '_'), damaged],
    ['base64 with unused bits set', bare(ecdsa256).replace(/o=$/, 'p='), damaged],
    ['a key that ends early', cut(ed25519, 3), damaged],
    ['a key that ends before its last part', cut(ed25519, 36), damaged],
    ['a key with bytes after its end', joined(blobOf(ed25519), Buffer.alloc(3)), damaged],
    ['a key with another part', joined(blobOf(ed25519), wirePart('')), damaged],
    ['a part longer than the key', joined(Buffer.alloc(4, 0xff), Buffer.alloc(8)), damaged],
    ['another type inside', bare(ed25519).replace('ssh-ed25519', 'ssh-rsa'), damaged],
    ['another curve inside', keyLine('ecdsa-sha2-nistp256', 'nistp384', point), damaged],
    ['an ed25519 key of 31 bytes', keyLine('ssh-ed25519', seed.subarray(1)), damaged],
    ['an ed25519 key of 33 bytes', keyLine('ssh-ed25519', Buffer.concat([seed, seed.subarray(31)])), damaged],
    ['a point that is too short', keyLine('ecdsa-sha2-nistp256', 'nistp256', point.subarray(0, -1)), damaged],
    ['a point that is too long', keyLine('ecdsa-sha2-nistp384', 'nistp384', Buffer.concat([point, point])), damaged],
    ['a compressed point', keyLine('ecdsa-sha2-nistp256', 'nistp256', Buffer.from([2, ...point.subarray(1)])), damaged],
    ['a hardware key with an empty application', keyLine('sk-ssh-ed25519@openssh.com', seed, ''), damaged],
    ['a hardware key without an application', keyLine('sk-ssh-ed25519@openssh.com', seed), damaged],
    ['a negative modulus', keyLine('ssh-rsa', e, modulus(2_048).subarray(1)), damaged],
    ['a modulus with leading zeros', keyLine('ssh-rsa', e, Buffer.concat([Buffer.alloc(1), modulus(2_048)])), damaged],
    ['no modulus', keyLine('ssh-rsa', e, ''), damaged],
    ['an even exponent', keyLine('ssh-rsa', Buffer.from([2]), modulus(2_048)), damaged],
    ['no exponent', keyLine('ssh-rsa', '', modulus(2_048)), damaged],
  ])('is refused: %s', (_, text, message) => {
    expect(parsePublicKey(text)).toEqual(expect.stringContaining(message))
  })

  it.each(Object.entries(privateKeys()))(
    'is refused if it is a private key of %s, and no message repeats it',
    (_, text) => {
      for (const problem of [parsePublicKey(text), parsePublicKey(`${ed25519} ${text}`), sshKeyNameProblem(text)]) {
        expect(problem).toContain('is a private key')
        for (const word of text.split(/[\s-]+/).filter(({ length }) => length > 8)) expect(problem).not.toContain(word)
      }
    },
  )

  it('is not repeated in the message that refuses it', () => {
    const problem = parsePublicKey('MHcCAQEEIIGNmGEO5W3B9sUaSecretSecretSecret oAoGCCqGSM49')
    expect(problem).not.toMatch(/MHc|Secret|oAoG/)
  })
})

describe('the name of a key', () => {
  it.each([
    ['laptop', 'anna@laptop', 'laptop'],
    ['', 'anna@laptop', 'anna@laptop'],
    [undefined, 'anna@laptop', 'anna@laptop'],
    [undefined, '', ''],
    [undefined, '🔑'.repeat(257), '🔑'.repeat(256)],
  ])('given as %s with the comment %s is %s', (name, comment, expected) => {
    expect(sshKeyName(name, comment)).toBe(expected)
  })

  it.each([
    ['a\nb', 'one line'],
    ['a'.repeat(257), 'at most 256 characters'],
    ['\ud800', 'well-formed'],
  ])('may not be %j', (name, message) => {
    expect(sshKeyNameProblem(name)).toContain(message)
  })

  it.each(['', 'my private key', '🔑'.repeat(256)])('may be "%s"', name => {
    expect(sshKeyNameProblem(name)).toBeUndefined()
  })
})

describe('lists of keys', () => {
  it.each([
    [[], [], true],
    [['a', 'b'], ['b', 'a'], true],
    [['a'], ['a', 'b'], false],
    [['a', 'b'], ['a'], false],
    [['a', 'c'], ['a', 'b'], false],
  ])('%j and %j are equal: %s', (some, others, same) => {
    expect(areSameKeys(some, others)).toBe(same)
  })

  it('are attached only to containers with SSH', () => {
    const modes = ['sshDirect', 'sshProxy', 'jupyterDirect', 'jupyterProxy', 'args'] as const
    expect(modes.filter(mode => canChangeSshKeys({ vm: false, mode }))).toEqual(modes.slice(0, 4))
    expect(modes.filter(mode => canChangeSshKeys({ vm: true, mode }))).toEqual([])
  })
})
