/** What a header such as Accept names, in its order and without what it forbids by a weight of 0. */
export function parseAccept(header: string | null): string[] {
  return (header ?? '')
    .toLowerCase()
    .split(',')
    .filter(part => !/;\s*q=0(\.0*)?\s*$/.test(part))
    .map(part => part.replace(/;.*/s, '').trim())
}
