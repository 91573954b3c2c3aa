import { describe, expect, it } from 'vitest'
import { createLag, parseLsn } from '../../../src/database/replica/lag.ts'

const maxLagMs = 5_000

describe('the staleness of a replica', () => {
  it('counts from the newest sample of the primary that the replica has reached', () => {
    const lag = createLag(maxLagMs)
    lag.note({ lsn: 100n, epoch: 1 }, 0)
    lag.note({ lsn: 200n, epoch: 1 }, 1_000)
    expect(lag.stalenessMs({ lsn: 99n, epoch: 1 }, 1_500)).toBe(undefined)
    expect(lag.stalenessMs({ lsn: 150n, epoch: 1 }, 1_500)).toBe(1_500)
    expect(lag.stalenessMs({ lsn: 200n, epoch: 1 }, 1_500)).toBe(500)
  })

  it('does not grow while the primary writes nothing', () => {
    const lag = createLag(maxLagMs)
    for (let atMs = 0; atMs <= 60_000; atMs += 1_000) lag.note({ lsn: 100n, epoch: 1 }, atMs)
    expect(lag.stalenessMs({ lsn: 100n, epoch: 1 }, 60_100)).toBe(100)
  })

  it('is unknown beyond the bound, and without a sample', () => {
    const lag = createLag(maxLagMs)
    expect(lag.stalenessMs({ lsn: 100n, epoch: 1 }, 0)).toBe(undefined)
    expect(lag.sampleAgeMs(0)).toBe(Number.POSITIVE_INFINITY)
    lag.note({ lsn: 100n, epoch: 1 }, 0)
    expect(lag.stalenessMs({ lsn: 100n, epoch: 1 }, maxLagMs)).toBe(maxLagMs)
    expect(lag.stalenessMs({ lsn: 100n, epoch: 1 }, maxLagMs + 1)).toBe(undefined)
    expect(lag.sampleAgeMs(maxLagMs)).toBe(maxLagMs)
  })

  it('is unknown on another line of history, however far the replica is there', () => {
    const lag = createLag(maxLagMs)
    lag.note({ lsn: 100n, epoch: 1 }, 0)
    // The new primary is behind what the old one had written.
    lag.note({ lsn: 90n, epoch: 2 }, 1_000)
    expect(lag.stalenessMs({ lsn: 120n, epoch: 1 }, 1_000)).toBe(undefined)
    expect(lag.stalenessMs({ lsn: 90n, epoch: 2 }, 1_000)).toBe(0)
  })
})

it('reads places of the WAL as PostgreSQL writes them', () => {
  expect(parseLsn('0/0')).toBe(0n)
  expect(parseLsn('16/B374D848')).toBe(0x16_b374_d848n)
  expect(parseLsn('1/0') > parseLsn('0/FFFFFFFF')).toBe(true)
})
