/** An image as the engine names it: without a tag or a digest it would pull all tags. A digest makes a tag meaningless. */
export function parseImage(image: string): { name: string; tag: string } {
  const [, named = image, digest] = /^(.+)@(sha256:[0-9a-f]{64})$/s.exec(image) ?? []
  const [, name = named, tag = 'latest'] = /^(.+):([\w.-]+)$/s.exec(named) ?? []
  return { name, tag: digest ?? tag }
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
