import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

export const root = join(import.meta.dirname, '../../..')

export type Program = { url: URL; pid: number; stop(): Promise<void> }

/**
 * Starts a server with the Node that runs the bench, and waits until it prints its address. Its log goes to a file, as under
 * a supervisor.
 */
export async function startProgram(args: string[], env: Record<string, string>, logFile: string): Promise<Program> {
  const log = await open(logFile, 'a')
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', log.fd],
  })
  await log.close()
  const kill = () => child.kill('SIGTERM')
  // A bench that fails or is interrupted leaves no server behind.
  process.once('exit', kill)
  const exited = once(child, 'close').finally(() => process.off('exit', kill))
  const url = await Promise.race([
    readAddress(child.stdout as Readable),
    exited.then(async ([code]) => {
      const tail = (await readFile(logFile, 'utf8')).slice(-2_000)
      throw new Error(`${args.join(' ')} ended with ${code}: ${tail}`)
    }),
  ])
  return {
    url,
    pid: child.pid as number,
    async stop() {
      kill()
      await exited
    },
  }
}

async function readAddress(output: Readable): Promise<URL> {
  let printed = ''
  return await new Promise(resolve => {
    output.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed) ?? []
      // The address may continue in the next chunk unless something follows it.
      if (address && /:\d+\D/.test(printed)) resolve(new URL(address))
    })
  })
}
