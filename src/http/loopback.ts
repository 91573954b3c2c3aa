/** Whether only this machine reaches the host. Brackets around an IPv6 address, as URLs have them, are accepted. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1')
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name)
}
