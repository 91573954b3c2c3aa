// What hosts ask over HTTP: which machine they are to be, how fast they are, to join, and for the toolbox.

import { z } from 'zod'
import { DomainError } from '../domain/errors.ts'
import { hostKeyRefusal, inviteTokenRefusal, isHostKey, isInviteToken } from '../domain/machines/agents.ts'
import { gpuAccesses } from '../domain/machines/engines.ts'
import { speedWarnings } from '../domain/machines/speed.ts'
import { parseBearer } from '../http/bearer.ts'
import { BodyError, readBody } from '../http/body.ts'
import { jsonResponse } from '../http/json.ts'
import { retryAfterHeaders } from '../http/limits/headers.ts'
import { pagePoints } from '../http/limits/points.ts'
import { streamSlices } from '../http/pieces.ts'
import type { Handler, RequestContext } from '../http/router.ts'
import { translateDatabaseError } from '../services/database-errors.ts'
import type { AgentServices } from '../services/machines/agents/services.ts'
import { createPortChecks } from './port-check.ts'
import { createSpeedChecks } from './speed-check.ts'

type HostFaceDeps = {
  services: Pick<AgentServices, 'findInvited' | 'join' | 'identify'>
  readToolbox(): Promise<Buffer>
}

const facts = z.object({
  identity: z.string().min(1).max(256),
  version: z.string().max(64),
  cpuCores: z.int().min(1).max(100_000),
  cpuRamMb: z.int().min(1).max(1_000_000_000),
  cpuArch: z.enum(['amd64', 'arm64']),
  gpuAccesses: z.array(z.enum(gpuAccesses)).max(10),
  /** Agents before this field do not say it, and nothing is promised for them. */
  limitsDisk: z.boolean().default(false),
  /** Agents before this field do not say it. */
  gpuMemoryMb: z.array(z.int().min(0).max(1_000_000_000)).max(1_000).exactOptional(),
  /** As the agent sees it. */
  clockAheadMs: z.number().min(-1e15).max(1e15),
})
const joining = z.object({
  key: z.string().refine(isHostKey),
  facts,
  gpuUuids: z.array(z.string().regex(/^[A-Za-z0-9-]{4,80}$/)).max(1_000),
  /** Hosts before this field open no ports. */
  listening: z
    .object({ ports: z.array(z.int().min(1).max(65_535)).max(1_000), answer: z.string().regex(/^[A-Za-z0-9_-]{43}$/) })
    .exactOptional(),
  /** As the host and the gateway have measured them. Hosts before this field measure nothing. */
  speeds: z.object({ downloadMbps: z.number().min(0), uploadMbps: z.number().min(0) }).exactOptional(),
})

const statuses: Partial<Record<string, number>> = {
  ...{ UNAUTHENTICATED: 401, NOT_FOUND: 404, INVALID_INPUT: 400, INVALID_STATE: 409, CONFLICT: 409, UNAVAILABLE: 503 },
  RATE_LIMITED: 429,
}

export function createHostFace({ services, readToolbox }: HostFaceDeps): Handler {
  const toolboxNow = shareContent(readToolbox)
  const portChecks = createPortChecks()
  const speedChecks = createSpeedChecks()

  /** A host opens some of the machine's ports before it joins. */
  async function describeInvitation(request: Request): Promise<Response> {
    const { machineId, firstPort, lastPort } = await services.findInvited(inviteTokenOf(request))
    return jsonResponse(200, { machineId, firstPort, lastPort })
  }

  async function measureDownload(request: Request): Promise<Response> {
    return speedChecks.download((await services.findInvited(inviteTokenOf(request))).machineId)
  }

  async function measureUpload(request: Request): Promise<Response> {
    return await speedChecks.upload((await services.findInvited(inviteTokenOf(request))).machineId, request)
  }

  async function join(request: Request, { log }: RequestContext): Promise<Response> {
    const token = inviteTokenOf(request)
    const { success, data } = joining.safeParse(parseJson(await readBody(request)))
    if (!success) return refuse(400, 'invalid_request', 'The request to join has not the form that it must have.')
    const { listening, speeds, ...host } = data
    const invited = await services.findInvited(token)
    const warnings = [
      ...(await portChecks.check(invited, listening)),
      ...(speeds ? speedWarnings(invited, speeds) : []),
    ]
    const { machineId } = await services.join({ ...host, token })
    for (const warning of warnings) log.warn({ machineId }, `A host has joined. ${warning}`)
    return jsonResponse(200, { machineId, warnings })
  }

  async function sendToolbox(request: Request): Promise<Response> {
    const key = bearerOf(request)
    if (!isHostKey(key) || (await services.identify(key)) === undefined)
      throw new DomainError('UNAUTHENTICATED', hostKeyRefusal)
    const toolbox = await toolboxNow().catch(() => undefined)
    if (!toolbox) return refuse(404, 'not_found', 'This gateway has no toolbox. "toolbox build" makes it.')
    const headers = { 'content-type': 'application/x-tar', 'content-length': String(toolbox.byteLength) }
    return new Response(streamSlices(toolbox), { headers })
  }

  const routes: Record<string, Handler> = {
    'GET /host/invitation': describeInvitation,
    'GET /host/speed': measureDownload,
    'POST /host/speed': measureUpload,
    'POST /host/join': join,
    'GET /host/toolbox': sendToolbox,
  }

  return async (request, context) => {
    const route = `${request.method} ${context.path}`
    const answer = Object.hasOwn(routes, route) ? routes[route] : undefined
    try {
      if (answer) return await answerUnlessGuessed(answer, request, context)
      context.meter.take('address', pagePoints)
      return refuse(404, 'not_found', `There is no ${route} here.`)
    } catch (error) {
      return answerError(translateDatabaseError(error))
    }
  }
}

/** A token or key that is not valid counts as a guess of its address. */
async function answerUnlessGuessed(answer: Handler, request: Request, context: RequestContext): Promise<Response> {
  let refusal: unknown
  const answered = await context.meter.check(bearerOf(request), async () => {
    try {
      return await answer(request, context)
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'UNAUTHENTICATED') throw error
      refusal = error
      return undefined
    }
  })
  if (answered) return answered
  throw refusal
}

function answerError(error: unknown): Response {
  if (error instanceof BodyError) return refuse(error.status, 'invalid_request', error.message)
  const status = error instanceof DomainError ? statuses[error.code] : undefined
  if (!(error instanceof DomainError) || status === undefined) throw error
  const headers = error.code === 'RATE_LIMITED' ? retryAfterHeaders(error.details) : {}
  return refuse(status, error.code.toLowerCase(), error.message, headers)
}

function refuse(status: number, error: string, msg: string, headers: Record<string, string> = {}): Response {
  return jsonResponse(status, { success: false, error, msg }, headers)
}

/** Reads for several callers at once, and gives all the same bytes until they change: a host may take long to read them. */
function shareContent(read: () => Promise<Buffer>): () => Promise<Buffer> {
  let reading: Promise<Buffer> | undefined
  let last: Buffer | undefined
  async function readAgain(): Promise<Buffer> {
    const content = await read()
    if (!last?.equals(content)) last = content
    return last
  }
  return async () => {
    reading ??= readAgain().finally(() => {
      reading = undefined
    })
    return await reading
  }
}

function inviteTokenOf(request: Request): string {
  const token = bearerOf(request)
  if (isInviteToken(token)) return token
  throw new DomainError('UNAUTHENTICATED', inviteTokenRefusal)
}

function bearerOf({ headers }: Request): string {
  return parseBearer(headers.get('authorization')) ?? ''
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
