import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'

/** Encrypts values, so that a dump of the database does not reveal them. */
export type Secrets = {
  seal(text: string): Buffer<ArrayBuffer>
  open(sealed: Uint8Array): string
  /** Gives the same digest for the same text and purpose. Nobody without the secret can compute the digest. */
  digest(purpose: string, text: string): Buffer
}

/** What else a gateway and `secret change` need of a secret. */
export type DatabaseSecrets = Secrets & {
  /** Begins each value in a database whose secret was changed. The database then refuses values of other secrets. */
  keyId: Buffer
  /** Makes the digests. A change of the secret keeps it, so that what was derived stays valid. */
  readonly digestKey: Buffer
  /** Whether the secret of the database was ever changed. */
  readonly isChanged: boolean
  /** For a database whose secret was changed, and which keeps this key of digests. */
  continueWith(digestKey: Buffer): void
}

const algorithm = 'aes-256-gcm'
const [ivLength, tagLength] = [12, 16]
const keyIdLength = 8

/** Null stays null. */
export function sealJson(secrets: Secrets, value: object): Buffer<ArrayBuffer>
export function sealJson(secrets: Secrets, value: object | null): Buffer<ArrayBuffer> | null
export function sealJson(secrets: Secrets, value: object | null): Buffer<ArrayBuffer> | null {
  return value && secrets.seal(JSON.stringify(value))
}

/** `Value` is the type that was passed to sealJson: only a gateway with this secret can write a value that opens. */
export function openJson<Value>(secrets: Secrets, sealed: Uint8Array): Value
export function openJson<Value>(secrets: Secrets, sealed: Uint8Array | null): Value | null
export function openJson<Value>(secrets: Secrets, sealed: Uint8Array | null): Value | null {
  return sealed && (JSON.parse(secrets.open(sealed)) as Value)
}

/** The secret of a data folder. It is created once. Only `secret change` replaces it: another cannot open sealed values. */
export async function loadOrCreateSecret(file: string): Promise<string> {
  const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (kept === '')
    throw new Error(
      `${file} is empty. It held the secret that encrypts values in the database. Restore the file from a backup.`,
    )
  if (kept !== undefined) return kept
  const made = randomBytes(32).toString('hex')
  // The link creates the complete file at once: nothing would show that a partly written secret is incomplete.
  await writeFile(`${file}.new`, made, { mode: 0o600 })
  await link(`${file}.new`, file)
  await rm(`${file}.new`)
  return made
}

/** The secret may be any text that is hard to guess. */
export function createSecrets(secret: string): DatabaseSecrets {
  const key = createHash('sha256').update(secret).digest()
  const keyId = hmacOf(key, 'key id').subarray(0, keyIdLength)
  let digestKey: Buffer = hmacOf(key, 'digests')
  let isChanged = false
  return {
    keyId,
    get digestKey() {
      return digestKey
    },
    get isChanged() {
      return isChanged
    },
    continueWith(kept) {
      digestKey = kept
      isChanged = true
    },
    seal(text) {
      const iv = randomBytes(ivLength)
      const cipher = createCipheriv(algorithm, key, iv)
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      // Older versions can read values without a key id, and may still run beside this one before a first change.
      return Buffer.concat([...(isChanged ? [keyId] : []), iv, cipher.getAuthTag(), sealed])
    },
    open(sealed) {
      const value = keyId.equals(sealed.subarray(0, keyIdLength)) ? sealed.subarray(keyIdLength) : sealed
      const [iv, tag] = [value.subarray(0, ivLength), value.subarray(ivLength, ivLength + tagLength)]
      const decipher = createDecipheriv(algorithm, key, iv).setAuthTag(tag)
      return decipher.update(value.subarray(ivLength + tagLength), undefined, 'utf8') + decipher.final('utf8')
    },
    digest: (purpose, text) => hmacOf(digestKey, JSON.stringify([purpose, text])),
  }
}

function hmacOf(key: Buffer, text: string): Buffer<ArrayBuffer> {
  return createHmac('sha256', key).update(text).digest()
}
