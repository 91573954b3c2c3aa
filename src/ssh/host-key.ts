import { createHash } from 'node:crypto'
import ssh2 from 'ssh2'

/** A new private key, in the OpenSSH format. One of 400 that ssh2 makes is damaged, and cannot be read. */
export function createHostKey(generate = () => ssh2.utils.generateKeyPairSync('ed25519').private): string {
  for (;;) {
    const key = generate()
    if (!(ssh2.utils.parseKey(key) instanceof Error)) return key
  }
}

/** The fingerprint of a private key, as ssh prints it when it sees a host for the first time. */
export function hostKeyFingerprint(hostKey: string): string {
  const parsed = ssh2.utils.parseKey(hostKey)
  if (parsed instanceof Error) throw parsed
  const digest = createHash('sha256').update(parsed.getPublicSSH()).digest('base64')
  return `SHA256:${digest.replace(/=+$/, '')}`
}
