// Writes and reads the few plain files that the driver puts into containers.

const blockLength = 512

export type TarFile = { path: string; mode: number; content: string | Buffer }

export function writeTar(files: TarFile[]): Buffer {
  const blocks = files.flatMap(({ path, mode, content }) => {
    const bytes = Buffer.from(content)
    return [header(path, mode, bytes.length), bytes, Buffer.alloc(-bytes.length & (blockLength - 1))]
  })
  return Buffer.concat([...blocks, Buffer.alloc(2 * blockLength)])
}

function header(path: string, mode: number, size: number): Buffer {
  const block = Buffer.alloc(blockLength)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  block.write(path, 0, 100)
  block.write(octal(mode, 8) + octal(0, 8) + octal(0, 8) + octal(size, 12) + octal(0, 12), 100, 'latin1')
  block.write('        0', 148, 'latin1')
  block.write('ustar\0' + '00', 257, 'latin1')
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${octal(sum, 7)} `, 148, 'latin1')
  return block
}

/** The content of the only file of an archive; undefined if it is no plain file, or if its end was not read. */
export function readTarFile(tar: Buffer): Buffer | undefined {
  if (tar.length < blockLength) return undefined
  const type = tar.toString('latin1', 156, 157)
  const size = Number.parseInt(tar.toString('latin1', 124, 136), 8)
  const end = blockLength + size
  return (type === '0' || type === '\0') && end <= tar.length ? tar.subarray(blockLength, end) : undefined
}
