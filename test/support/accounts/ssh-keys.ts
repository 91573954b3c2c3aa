import { createHash, generateKeyPairSync } from 'node:crypto'

/** A part of a key on the wire: its length and its bytes. */
export function wirePart(bytes: Uint8Array | string): Buffer {
  const content = Buffer.from(bytes as string)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(content.length)
  return Buffer.concat([length, content])
}

export function keyLine(type: string, ...parts: (Uint8Array | string)[]): string {
  return `${type} ${Buffer.concat([type, ...parts].map(wirePart)).toString('base64')}`
}

/** A public key without a private key. Each text gives another key. */
export function aPublicKey(text: string): string {
  return keyLine('ssh-ed25519', createHash('sha256').update(text).digest())
}

/** Private keys in the formats of several programs, which renters may paste by mistake. */
export function privateKeys(): Record<string, string> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const body = `b3BlbnNzaC1rZXktdjE${'QUJD'.repeat(40)}`
  const lines = (head: string, text: string) => `-----BEGIN ${head}-----\n${text}\n-----END ${head}-----\n`
  return {
    'PKCS #8': privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    'SEC 1': privateKey.export({ type: 'sec1', format: 'pem' }) as string,
    OpenSSH: lines('OPENSSH PRIVATE KEY', body),
    'OpenSSH without its first line': body,
    'OpenSSH on one line': lines('OPENSSH PRIVATE KEY', body).replaceAll('\n', ' '),
    PuTTY: `PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n${body.slice(30)}\n`,
    SSH2: `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n${body.slice(30)}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\n`,
  }
}
