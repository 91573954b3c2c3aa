// Public keys in the OpenSSH format: a type, the key in base64, and a comment. A caller may send a private key by
// mistake, so no message repeats the input.

import type { LaunchConfig } from '../instances/instances.ts'
import { type InstanceStatus, isFinal } from '../instances/states.ts'
import { countCharacters, textProblem } from '../texts.ts'

/** `publicKey` is the type and the base64 key, without the comment. The fingerprint is a hash of `blob`. */
export type PublicKey = { publicKey: string; comment: string; blob: Uint8Array }

export const maxSshKeys = 100
export const maxSshKeyNameLength = 256
const maxPublicKeyLength = 16_384

type VmAndMode = { vm: boolean; mode: LaunchConfig['mode'] }

/** Whether an instance gets the account's keys when it is rented. A container in args mode has no SSH server. */
export function hasSshAccess({ vm, mode }: VmAndMode): boolean {
  return vm || mode !== 'args'
}

/** Whether key changes reach an instance after it was rented. Berth cannot change a virtual machine from outside. */
export function canChangeSshKeys(instance: VmAndMode): boolean {
  return !instance.vm && hasSshAccess(instance)
}

/** Why the keys of an instance cannot be changed; undefined when they can. */
export function sshKeysProblem({ status, ...instance }: VmAndMode & { status: InstanceStatus }): string | undefined {
  if (instance.vm) return 'A virtual machine keeps the SSH keys that it was created with.'
  if (!canChangeSshKeys(instance))
    return 'The instance was rented in args mode, so it has no SSH server and takes no SSH keys.'
  if (!isFinal(status)) return undefined
  return `The instance has the status ${status} and never runs again, so its SSH keys cannot be changed.`
}

/** Ignores the order. */
export function areSameKeys(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every(key => others.includes(key))
}

/** The given name, or else the key's comment, cut to the maximum length. */
export function sshKeyName(name: string | undefined, comment: string): string {
  return (
    name ||
    (countCharacters(comment) > maxSshKeyNameLength ? [...comment].slice(0, maxSshKeyNameLength).join('') : comment)
  )
}

export function sshKeyNameProblem(name: string): string | undefined {
  if (isPrivateKey(name)) return privateKeyProblem
  return controlCharacters.test(name) ? 'must be one line.' : textProblem(name, maxSshKeyNameLength)
}

const privateKeyProblem =
  'is a private key, which must stay secret: send the public key, from the file that ends in .pub.'
const damagedKeyProblem = 'is damaged or cut off: send the whole line.'
const controlCharacters = /[^\P{Cc}\t]|\p{Zl}|\p{Zp}/u

/** Reads one line of a .pub file, or says what is wrong with it. */
export function parsePublicKey(text: string): PublicKey | string {
  if (isPrivateKey(text)) return privateKeyProblem
  const problem = textProblem(text, maxPublicKeyLength)
  if (problem) return problem
  const line = text.trim()
  const [, header] = /^-{4,5} ?BEGIN (.*?) ?-/.exec(line) ?? []
  if (header !== undefined) {
    const format = { 'PUBLIC KEY': '-m PKCS8 ', 'RSA PUBLIC KEY': '-m PEM ' }[header] ?? ''
    return `must be in the OpenSSH format: convert the key with ssh-keygen -i ${format}-f FILE.`
  }
  if (controlCharacters.test(line)) return 'must be one key, on one line.'
  const [, type = '', base64 = '', comment = ''] = /^(\S+)(?:[ \t]+(\S+)(?:[ \t]+(.*))?)?$/u.exec(line) ?? []
  const checks = Object.hasOwn(keyFormats, type) ? keyFormats[type] : undefined
  if (!checks) return typeProblem(line, type)
  const blob = decodeBase64(base64)
  const parts = blob && splitParts(blob)
  if (!parts || decodeText(parts[0]) !== type || parts.length !== checks.length + 1) return damagedKeyProblem
  const wrong = parts
    .slice(1)
    .map((part, index) => checks[index]?.(part))
    .find(Boolean)
  return wrong ?? { publicKey: `${type} ${base64}`, comment, blob }
}

/** Also detects a private key without its first line, and the PuTTY format. */
function isPrivateKey(text: string): boolean {
  return /PRIVATE KEY ?----|PuTTY-User-Key-File|b3BlbnNzaC1rZXktdjE/.test(text)
}

function typeProblem(line: string, type: string): string {
  if (/-cert-v0[01]@openssh\.com$/.test(type)) return 'is a certificate: send the public key that it certifies.'
  if (type === 'ssh-dss')
    return 'is a DSA key, which OpenSSH no longer accepts: create a key with ssh-keygen -t ed25519.'
  const types = Object.keys(keyFormats)
  return line.split(/[ \t]+/).some(word => types.includes(word))
    ? 'must begin with the key type, without options before it.'
    : `must be a public key in the OpenSSH format: a type (one of ${types.join(', ')}) and the key.`
}

type PartCheck = (part: Uint8Array) => string | undefined

const hasLength: (length: number) => PartCheck = length => part =>
  part.length === length ? undefined : damagedKeyProblem
const isText: (text: string) => PartCheck = text => part => (decodeText(part) === text ? undefined : damagedKeyProblem)
/** An uncompressed curve point: two coordinates of this size. */
const isPoint: (bytes: number) => PartCheck = bytes => part =>
  part.length === 1 + 2 * bytes && part[0] === 4 ? undefined : damagedKeyProblem
const isNotEmpty: PartCheck = part => (part.length > 0 ? undefined : damagedKeyProblem)

/** The bits of a positive integer; undefined when it is negative (highest bit set) or has redundant leading zeros. */
function bitLengthOf(part: Uint8Array): number | undefined {
  const [first = 0x80, second = 0] = part
  if (first >= 0x80 || (first === 0 && second < 0x80)) return undefined
  return part.length * 8 - Math.clz32(first) + 24
}
const isExponent: PartCheck = part =>
  bitLengthOf(part) !== undefined && (part.at(-1) ?? 0) % 2 === 1 ? undefined : damagedKeyProblem
const isModulus: PartCheck = part => {
  const bits = bitLengthOf(part)
  if (bits === undefined) return damagedKeyProblem
  if (bits < 2_048)
    return `is an RSA key of ${bits} bits; the minimum is 2048: create a key with ssh-keygen -t ed25519.`
  return bits > 16_384 ? `is an RSA key of ${bits} bits; OpenSSH accepts at most 16384.` : undefined
}

/** Checks for each part that follows the type name. */
const keyFormats: Record<string, PartCheck[]> = {
  'ssh-ed25519': [hasLength(32)],
  'ssh-rsa': [isExponent, isModulus],
  'ecdsa-sha2-nistp256': [isText('nistp256'), isPoint(32)],
  'ecdsa-sha2-nistp384': [isText('nistp384'), isPoint(48)],
  'ecdsa-sha2-nistp521': [isText('nistp521'), isPoint(66)],
  'sk-ssh-ed25519@openssh.com': [hasLength(32), isNotEmpty],
  'sk-ecdsa-sha2-nistp256@openssh.com': [isText('nistp256'), isPoint(32), isNotEmpty],
}

/** Accepts only the canonical encoding, so that each key has one text. */
function decodeBase64(base64: string): Uint8Array | undefined {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64)) return undefined
  const bytes = atob(base64)
  return btoa(bytes) === base64 ? Uint8Array.from(bytes, byte => byte.charCodeAt(0)) : undefined
}

/** Splits parts that each follow a four-byte length; undefined when bytes are missing or left over. */
function splitParts(blob: Uint8Array): Uint8Array[] | undefined {
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength)
  const parts: Uint8Array[] = []
  let at = 0
  while (at + 4 <= blob.length) {
    const end = at + 4 + view.getUint32(at)
    if (end > blob.length) return undefined
    parts.push(blob.subarray(at + 4, end))
    at = end
  }
  return at === blob.length ? parts : undefined
}

function decodeText(part: Uint8Array | undefined): string {
  return String.fromCharCode(...(part ?? []))
}
