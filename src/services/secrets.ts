import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'

/** Encrypts values, so that a dump of the database does not reveal them. */
export type Secrets = {
  seal(text: string): Buffer<ArrayBuffer>
  open(sealed: Uint8Array): string
  /** Gives the same digest for the same text and purpose. Nobody without the secret can compute the digest. */
  digest(purpose: string, text: string): Buffer
}

const algorithm = 'aes-256-gcm'
const [ivLength, tagLength] = [12, 16]

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

/** The secret of a data folder. It is created once and never replaced: a new secret cannot open sealed values. */
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
export function createSecrets(secret: string): Secrets {
  const key = createHash('sha256').update(secret).digest()
  const digestKey = createHmac('sha256', key).update('digests').digest()
  return {
    seal(text) {
      const iv = randomBytes(ivLength)
      const cipher = createCipheriv(algorithm, key, iv)
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed])
    },
    open(sealed) {
      const [iv, tag] = [sealed.subarray(0, ivLength), sealed.subarray(ivLength, ivLength + tagLength)]
      const decipher = createDecipheriv(algorithm, key, iv).setAuthTag(tag)
      return decipher.update(sealed.subarray(ivLength + tagLength), undefined, 'utf8') + decipher.final('utf8')
    },
    digest(purpose, text) {
      return createHmac('sha256', digestKey)
        .update(JSON.stringify([purpose, text]))
        .digest()
    },
  }
}
