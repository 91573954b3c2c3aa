// The values that both sides send each other, checked when they arrive: a host may be in the hands of anybody.

import { z } from 'zod'
import { type LogLine, maxLogLines, maxReadLength, type Observed } from '../../../domain/instances/containers.ts'
import type { LaunchConfig } from '../../../domain/instances/instances.ts'
import type { ContainerStats } from '../../../domain/instances/metrics.ts'
import { launchModes } from '../../../domain/launch/launch.ts'
import { textProblem } from '../../../domain/texts.ts'

const text = (most: number) => z.string().max(most)
const int = (least: number, most: number) => z.number().int().min(least).max(most)
const instant = text(32).pipe(z.coerce.date())

/** An id, as text: JSON has no integers of 64 bits. */
export const id = z
  .string()
  .regex(/^[1-9]\d{0,17}$/)
  .transform(BigInt)
export const ids = z.array(id).max(10_000)
export const changedIds = z.array(id).max(1_000)
export const accountId = int(1, 2_147_483_647)
export const port = int(1, 65_535)
export const sshKeys = z.array(text(20_000)).max(1_000)
export const command = text(1_000_000)
export const nothing = z.null()

export const windowSize = z.object({ columns: int(0, 65_535), rows: int(0, 65_535) })
export const processSpec = z.object({
  command: command.nullable(),
  terminal: windowSize.extend({ type: text(256) }).nullable(),
})
export const processSignal = text(16)

/** `url`: where hosts reach this gateway alone; null if only a balancer leads to it. */
export const branchTarget = z.object({
  gatewayId: z.uuid(),
  url: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .nullable(),
})
export type BranchTarget = z.output<typeof branchTarget>

const isStorable = (message: string) => textProblem(message) === undefined
const until = instant.exactOptional()
export const observed: z.ZodType<Observed, unknown> = z.discriminatedUnion('state', [
  z.object({ state: z.enum(['unreachable', 'absent']) }),
  z.object({ state: z.enum(['preparing', 'starting', 'stopping']), until }),
  z.object({ state: z.enum(['prepared', 'stopped']), sshKeys }),
  z.object({ state: z.literal('running'), sshKeys, until }),
  z.object({ state: z.literal('exited'), exitCode: int(0, 255), sshKeys, endedAt: until }),
  z.object({
    state: z.literal('failed'),
    code: z.enum(['IMAGE_PULL_FAILED', 'START_FAILED']),
    message: text(10_000)
      .refine(isStorable)
      .transform(message => message.slice(0, 1_000).toWellFormed()),
    fault: z.enum(['machine', 'unclear']).exactOptional(),
  }),
])

export const logRange = z.object({ after: text(256).exactOptional(), tail: int(0, 1_000_000).exactOptional() })
const logLine: z.ZodType<LogLine, unknown> = z.object({
  printedAt: instant,
  text: text(20_000),
  source: z.enum(['machine', 'stdout', 'stderr']),
  cursor: text(256),
})
export const logLines = z.array(logLine).max(maxLogLines)
export const commandOutput = z.object({ exitCode: int(0, 255), output: text(maxReadLength) })
export const inventory = z.object({ instanceIds: ids, volumeIds: ids })

const amount = z.number().min(0).max(Number.MAX_SAFE_INTEGER).nullable()
const containerStats: z.ZodType<ContainerStats, unknown> = z.object({
  ...{
    instanceId: id,
    cpuCores: amount,
    memoryBytes: amount,
    diskBytes: amount,
    receivedBytes: amount,
    sentBytes: amount,
  },
  gpus: z.array(z.object({ utilization: z.number().min(0).max(100).nullable(), memoryMb: amount })).max(64),
})
export const stats = z.array(containerStats).max(10_000)

const launch = z.object({
  image: text(2_000),
  mode: z.enum(launchModes),
  lab: z.boolean(),
  directory: text(10_000).nullable(),
  args: z.array(text(200_000)).max(10_000),
  env: z.array(z.object({ name: text(1_000), value: text(200_000), secret: z.literal(true).optional() })).max(10_000),
  ports: z.array(
    z.object({ hostPort: int(0, 65_535), containerPort: int(0, 65_535), protocol: z.enum(['tcp', 'udp']) }),
  ),
  hostname: text(1_000).nullable(),
  onStart: text(500_000).nullable(),
  // No driver reads where a launch came from.
  sources: z.custom<LaunchConfig['sources']>(),
})

/** All but the machine: a host has one. */
export const containerSpec = z.object({
  instanceId: id,
  accountId,
  /** Gateways before this field ask for no virtual machine. */
  vm: z.boolean().default(false),
  gpus: z.array(int(0, 1_000)).max(1_000),
  diskMb: z.number().min(0),
  share: z.object({ cpus: z.number().min(0), memoryMb: z.number().min(0) }).nullable(),
  launch,
  ports: launch.shape.ports,
  volumes: z.array(z.object({ volumeId: id, mountPath: text(10_000) })).max(1_000),
  registry: z.object({ host: text(1_000), username: text(1_000), password: text(10_000) }).optional(),
  sshKeys,
  apiKey: text(1_000),
})
