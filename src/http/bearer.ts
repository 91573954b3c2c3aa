/** The secret in an Authorization header. */
export function parseBearer(authorization: string | null | undefined): string | undefined {
  const [, secret] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? []
  return secret
}
