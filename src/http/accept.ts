/** The values of a header such as Accept, in order, without those of weight 0. */
export function parseAccept(header: string | null): string[] {
  return (header ?? '')
    .toLowerCase()
    .split(',')
    .filter(part => !/;\s*q=0(\.0*)?\s*$/.test(part))
    .map(part => part.replace(/;.*/s, '').trim())
}
