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
export async function isAnswering(folder: string): Promise<boolean> {
  const answer = await requestEngine(folder, 'GET', '/_ping').catch(() => undefined)
  return answer?.status === 200
}

/** Unpacks a tar file in a container's root. Unlike the client's `cp`, this replaces a file by a folder. */
export async function putArchive(folder: string, container: string, tar: Buffer): Promise<void> {
  const { status, text } = await requestEngine(folder, 'PUT', `/containers/${container}/archive?path=/`, tar)
  if (status !== 200) throw new Error(`The engine unpacked nothing: ${text}`)
}

type EngineAnswer = { status: number; text: string }

function requestEngine(folder: string, method: string, path: string, body?: Buffer): Promise<EngineAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<EngineAnswer>()
  const options = { socketPath: socketPath(folder), method, path, timeout: 10_000, agent: false }
  const outgoing = request(options, response => {
    let text = ''
    response.on('data', data => (text += data))
    response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    response.on('error', reject)
  })
  outgoing.on('timeout', () => outgoing.destroy(new Error('The engine does not answer.')))
  outgoing.on('error', reject)
  outgoing.end(body)
  return promise
}
