// Public keys as OpenSSH writes them: a type, the key in base64, and a comment. What was sent may be a private key, so no
// message repeats a word of it.

import type { LaunchConfig } from '../instances/instances.ts'
import { type InstanceStatus, isFinal } from '../instances/states.ts'
import { countCharacters, textProblem } from '../texts.ts'

/** A public key that an account has registered. */
export type SshKey = { id: number; name: string; publicKey: string; fingerprint: string; createdAt: Date }

/** `publicKey` is the type and the key alone; `blob` is what a fingerprint is made of. */
export type PublicKey = { publicKey: string; comment: string; blob: Uint8Array }

export const maxSshKeys = 100
export const maxSshKeyNameLength = 256
const maxPublicKeyLength = 16_384

type VmAndMode = { vm: boolean; mode: LaunchConfig['mode'] }

/** Whether an instance gets the keys of its account when it is rented. Nobody logs in to a container in args mode. */
export function hasSshAccess({ vm, mode }: VmAndMode): boolean {
  return vm || mode !== 'args'
}

/** Whether keys that are changed now still come into an instance. Nothing reaches into a virtual machine. */
export function canChangeSshKeys(instance: VmAndMode): boolean {
  return !instance.vm && hasSshAccess(instance)
}

/** Why no key can come into an instance, or out of it; undefined when one can. */
export function sshKeysProblem({ status, ...instance }: VmAndMode & { status: InstanceStatus }): string | undefined {
  if (instance.vm) return 'A virtual machine keeps the keys that it was made with.'
  if (!canChangeSshKeys(instance)) return 'It was rented in args mode, so it has no SSH server: nobody logs in to it.'
  return isFinal(status) ? `It is ${status}, from where it never runs again: nobody logs in to it.` : undefined
}

/** The order means nothing. */
export function areSameKeys(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every(key => others.includes(key))
}

/** What a key is called: what was asked for, else its comment as far as there is room. */
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
  'is a private key, which nobody else may have: send the public one, from the file that ends in .pub.'
const damagedKeyProblem = 'is damaged or cut off: send the whole line.'
const controlCharacters = /[^\P{Cc}\t]|\p{Zl}|\p{Zp}/u

/** Reads one line of a .pub file, or says what is wrong with it. */
export function parsePublicKey(text: string): PublicKey | string {
  if (isPrivateKey(text)) return privateKeyProblem
  const problem = textProblem(text, maxPublicKeyLength)
  if (problem) return problem
  const line = text.trim()
  if (/^-{4,5} ?BEGIN /.test(line)) return 'must be in the format of OpenSSH: ssh-keygen -i -f FILE prints it.'
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

/** Also the inside of one without its first line, and the format of PuTTY. */
function isPrivateKey(text: string): boolean {
  return /PRIVATE KEY ?----|PuTTY-User-Key-File|b3BlbnNzaC1rZXktdjE/.test(text)
}

function typeProblem(line: string, type: string): string {
  if (/-cert-v0[01]@openssh\.com$/.test(type)) return 'is a certificate: send the key that it was made for.'
  if (type === 'ssh-dss') return 'is a DSA key, which OpenSSH no longer takes: make one with ssh-keygen -t ed25519.'
  const types = Object.keys(keyFormats)
  return line.split(/[ \t]+/).some(word => types.includes(word))
    ? 'must begin with the type of the key, without options before it.'
    : `must be a public key as OpenSSH writes it: its type, which is one of ${types.join(', ')}, and the key.`
}

type PartCheck = (part: Uint8Array) => string | undefined

const hasLength: (length: number) => PartCheck = length => part =>
  part.length === length ? undefined : damagedKeyProblem
const isText: (text: string) => PartCheck = text => part => (decodeText(part) === text ? undefined : damagedKeyProblem)
/** Two coordinates, not compressed. */
const isPoint: (bytes: number) => PartCheck = bytes => part =>
  part.length === 1 + 2 * bytes && part[0] === 4 ? undefined : damagedKeyProblem
const isNotEmpty: PartCheck = part => (part.length > 0 ? undefined : damagedKeyProblem)

/** A positive integer without needless zeros in front; the highest bit would be a sign. */
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
  if (bits < 2_048) return `is an RSA key of ${bits} bits, and needs 2048: make one with ssh-keygen -t ed25519.`
  return bits > 16_384 ? `is an RSA key of ${bits} bits, and OpenSSH takes at most 16384.` : undefined
}

/** What follows the name of the type, part by part. */
const keyFormats: Record<string, PartCheck[]> = {
  'ssh-ed25519': [hasLength(32)],
  'ssh-rsa': [isExponent, isModulus],
  'ecdsa-sha2-nistp256': [isText('nistp256'), isPoint(32)],
  'ecdsa-sha2-nistp384': [isText('nistp384'), isPoint(48)],
  'ecdsa-sha2-nistp521': [isText('nistp521'), isPoint(66)],
  'sk-ssh-ed25519@openssh.com': [hasLength(32), isNotEmpty],
  'sk-ecdsa-sha2-nistp256@openssh.com': [isText('nistp256'), isPoint(32), isNotEmpty],
}

/** Only the one text that encodes these bytes, so that a key is written in one way. */
function decodeBase64(base64: string): Uint8Array | undefined {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64)) return undefined
  const bytes = atob(base64)
  return btoa(bytes) === base64 ? Uint8Array.from(bytes, byte => byte.charCodeAt(0)) : undefined
}

/** The parts, each behind its length in four bytes. Nothing may be missing or left over. */
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
