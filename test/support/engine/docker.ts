import { spawn } from 'node:child_process'
import { request } from 'node:http'
import { join } from 'node:path'
import { socketPath } from './details.ts'

export type CommandResult = { code: number; stdout: string; stderr: string }

/** Runs the docker client against the engine in a folder. */
export function runDocker(folder: string, args: string[], input: string | Buffer = ''): Promise<CommandResult> {
  return runProgram('docker', args, input, {
    DOCKER_HOST: `unix://${socketPath(folder)}`,
    DOCKER_CONFIG: join(folder, 'client'),
  })
}

/** The output of a docker command that must succeed. */
export async function docker(folder: string, args: string[], input: string | Buffer = ''): Promise<string> {
  const { code, stdout, stderr } = await runDocker(folder, args, input)
  if (code !== 0) throw new Error(`docker ${args.join(' ')} ended with ${code}: ${stderr}`)
  return stdout.trim()
}

export function runProgram(
  program: string,
  args: string[],
  input: string | Buffer = '',
  env: Record<string, string> = {},
): Promise<CommandResult> {
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>()
  const child = spawn(program, args, { env: { ...process.env, ...env } })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', data => (output.stdout += data))
  child.stderr.on('data', data => (output.stderr += data))
  // A program may end without reading its input.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  child.on('error', reject)
  child.on('close', code => resolve({ code: code ?? -1, ...output }))
  return promise
}

/** Whether the engine in a folder answers. */
export function isAnswering(folder: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const ping = request({ socketPath: socketPath(folder), path: '/_ping', timeout: 1_000, agent: false }, response => {
    response.resume()
    resolve(response.statusCode === 200)
  })
  ping.on('timeout', () => ping.destroy())
  ping.on('error', () => resolve(false))
  ping.end()
  return promise
}
