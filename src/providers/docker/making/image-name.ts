/** An image as the engine names it: without a tag or a digest it would pull all tags. */
export function parseImage(image: string): { name: string; tag: string } {
  const [, name = image, tag = 'latest'] =
    /^(.+?)(?:@(sha256:[0-9a-f]{64})|:([\w.-]+))?$/s.exec(image)?.filter(Boolean) ?? []
  return { name, tag }
}

/** The path at which the engine describes an image. The slashes in its name stay as they are. */
export function imagePath(image: string): string {
  return `/images/${image.split('/').map(encodeURIComponent).join('/')}/json`
}

const hubHosts = ['docker.io', 'index.docker.io', 'registry-1.docker.io', 'registry.hub.docker.com', 'hub.docker.com']

/** Whether an image is of a registry, which users also name by its URL. */
export function isRegistryOf(host: string, image: string): boolean {
  const [first = '', ...rest] = image.split('/')
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
  return plainHost(host) === plainHost(isHost ? first : 'docker.io')
}

function plainHost(host: string): string {
  const plain = host
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/\/.*$/s, '')
  return hubHosts.includes(plain) ? 'docker.io' : plain
}
