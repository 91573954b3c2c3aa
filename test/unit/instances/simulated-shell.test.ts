import { describe, expect, it } from 'vitest'
import { maxReadLength } from '../../../src/domain/instances/containers.ts'
import type { MadeFrom } from '../../../src/providers/simulated/container.ts'
import { runCommand, runScript } from '../../../src/providers/simulated/shell.ts'

const value = 'a'.repeat(4_096)
const made = (onStart: string) => {
  const env = [{ name: 'A', value }]
  return { env, hostname: 'host', onStart, gpus: [], diskMb: 0 } as unknown as MadeFrom
}

describe('a simulated shell with much output', () => {
  it('expands variables up to the length limit of a line', () => {
    expect(runCommand(made(''), ['echo $A$A $', '{A}'].join(''))).toEqual({
      exitCode: 0,
      output: `${value}${value} ${value}\n`,
    })
    const many = (count: number) => runCommand(made(''), `echo ${'$A'.repeat(count)}`)
    expect([many(31).exitCode, many(31).output.length]).toEqual([0, maxReadLength])
    expect(many(2_000)).toEqual({ exitCode: 126, output: 'sh: Argument list too long\n' })
  })

  it('prints files up to the length that is read', () => {
    const { output } = runCommand(made('b'.repeat(10_000)), `cat ${'/root/onstart.sh '.repeat(100)}`)
    expect(output).toHaveLength(maxReadLength)
  })

  it('ends a script that has printed enough', () => {
    const lines = runScript(made(''), Array(2_000).fill('echo $A$A$A$A').join('\n'))
    expect(lines.join('').length).toBeLessThan(maxReadLength + 5 * value.length)
    expect(lines.length).toBeGreaterThan(3)
    expect(runScript(made(''), Array(2_000).fill('echo').join('\n'))).toHaveLength(100)
  })
})

describe('a simulated shell', () => {
  it('finds no file and no directory with the name of an object property', () => {
    for (const name of ['constructor', '__proto__', 'toString']) {
      expect(runCommand(made(''), `cat ${name}`).output).toBe(`cat: ${name}: No such file or directory\n`)
      expect(runCommand(made(''), `ls ${name}`).output).toBe(`ls: ${name}: No such file or directory\n`)
    }
  })
})
