import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'

/** Keeps what nobody may read from a dump of the database. */
export type Secrets = {
  seal(text: string): Buffer
  open(sealed: Uint8Array): string
  /** The same for the same text, and for nobody to guess. The purpose keeps those of one use from being another's. */
  digest(purpose: string, text: string): Buffer
}

const algorithm = 'aes-256-gcm'
const [ivLength, tagLength] = [12, 16]

/** A value as a column of bytes takes it, in a statement or in the JSON of one. Null stays null. */
export function sealJson(secrets: Secrets, value: object | null): string | null {
  return value && `\\x${secrets.seal(JSON.stringify(value)).toString('hex')}`
}

/** `Value` is the type that sealJson was given: nobody else can write what the secret of the gateway opens. */
export function openJson<Value>(secrets: Secrets, sealed: Uint8Array | null): Value | null {
  return sealed && (JSON.parse(secrets.open(sealed)) as Value)
}

/** The secret of a data folder, which is made once and never replaced: what it sealed could not be opened any more. */
export async function loadOrCreateSecret(file: string): Promise<string> {
  const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (kept === '') throw new Error(`${file} is empty. It held the secret that keeps the secrets in the database.`)
  if (kept !== undefined) return kept
  const made = randomBytes(32).toString('hex')
  // Whole or not at all: half a secret would be taken for one.
  await writeFile(`${file}.new`, made, { mode: 0o600 })
  await link(`${file}.new`, file)
  await rm(`${file}.new`)
  return made
}

/** The secret is of any form; what it makes certain is that nobody guesses it. */
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
