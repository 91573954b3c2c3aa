import { describe, expect, it } from 'vitest'
import { answerAsset, chooseEncoding, createAsset } from '../../../src/http/asset.ts'

describe('the encoding of a file', () => {
  it.each([
    [null, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, deflate', 'gzip'],
    ['GZIP;q=0.5', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['br; q=0.000, gzip;q=0', 'identity'],
    ['x-gzip, brotli', 'identity'],
    ['*', 'identity'],
  ])('for Accept-Encoding %j is %s', (accepted, expected) => {
    expect(chooseEncoding(accepted)).toBe(expected)
  })
})

describe('a file', () => {
  const asset = createAsset(Buffer.from('x'.repeat(200_000)), 'text/plain')
  const ask = (headers: Record<string, string>) =>
    answerAsset(new Request('http://berth.test/', { headers }), asset, { 'cache-control': 'public' })

  it('arrives complete, with its headers', async () => {
    const response = await ask({})
    expect(Object.fromEntries(response.headers)).toEqual({
      'cache-control': 'public',
      'content-length': '200000',
      'content-type': 'text/plain',
      etag: asset.etag,
      vary: 'Accept-Encoding',
    })
    expect(await response.text()).toBe('x'.repeat(200_000))
  })

  it('lets other work run while the server sends it', async () => {
    const response = await ask({})
    let hadTurn = false
    setImmediate(() => (hadTurn = true))
    await response.arrayBuffer()
    expect(hadTurn).toBe(true)
  })

  it('is compressed only once', async () => {
    expect(await asset.encode('gzip')).toBe(await asset.encode('gzip'))
  })

  it.each([
    [asset.etag, 304],
    [asset.etag.replace('W/', ''), 304],
    [`"other", ${asset.etag}`, 304],
    ['*', 304],
    ['"other"', 200],
  ])('answers If-None-Match %s with %i', async (known, status) => {
    const response = await ask({ 'if-none-match': known })
    expect([response.status, response.headers.get('etag')]).toEqual([status, asset.etag])
    expect(await response.text()).toHaveLength(status === 304 ? 0 : 200_000)
  })
})
