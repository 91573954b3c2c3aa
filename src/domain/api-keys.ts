// A key is berth_<public id>_<secret>. The public id finds it and may be shown; only a hash of the secret is kept.

export const publicIdLength = 12
export const secretLength = 40

const format = new RegExp(`^berth_([0-9A-Za-z]{${publicIdLength}})_([0-9A-Za-z]{${secretLength}})$`)

export function parseApiKey(key: string): { publicId: string; secret: string } | undefined {
  const [, publicId, secret] = format.exec(key) ?? []
  return publicId && secret ? { publicId, secret } : undefined
}

export function printApiKey(publicId: string, secret: string): string {
  return `berth_${publicId}_${secret}`
}
