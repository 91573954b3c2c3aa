import { parseArgs } from 'node:util'

export type Options = {
  /** Part of the full market: 1 is 200,000 offers. */
  scale: number
  /** Ids of workloads, such as W1, or parts of the titles of searches with `growth`; undefined for all. */
  only: string[] | undefined
  /** The numbers of connections to measure with. */
  connections: number[]
  rounds: number
  /** How long a run takes. */
  seconds: number
  streams: number
  /** Measures how searches slow down as the market grows, and nothing else. */
  growth: boolean
}

const full = { scale: 1, connections: [1, 16], rounds: 5, seconds: 2, streams: 1_000 }
/** For continuous integration: checks that all works and counts statements. Its times mean little. */
const quick = { scale: 0.1, connections: [16], rounds: 1, seconds: 0.5, streams: 100 }
/** Searches are many, and the spread of one at a time is small. */
const growing = { ...full, rounds: 3, seconds: 0.5 }

export function parseOptions(args: string[]): Options {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean' },
      growth: { type: 'boolean' },
      ...{ only: text, scale: text, connections: text, rounds: text, seconds: text, streams: text },
    },
  })
  const defaults = values.quick ? quick : values.growth ? growing : full
  const number = (name: 'scale' | 'rounds' | 'seconds' | 'streams') => {
    return values[name] === undefined ? defaults[name] : parsePositive(name, values[name])
  }
  return {
    ...{ scale: number('scale'), rounds: number('rounds'), seconds: number('seconds'), streams: number('streams') },
    growth: values.growth ?? false,
    only: values.only?.split(','),
    connections: values.connections?.split(',').map(part => parsePositive('connections', part)) ?? defaults.connections,
  }
}

export function isWanted({ only }: Options, id: string): boolean {
  return only?.includes(id) ?? true
}

function parsePositive(name: string, text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0, not "${text}".`)
  return value
}
