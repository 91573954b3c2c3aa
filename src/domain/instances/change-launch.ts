// What an instance is made of when its container is made the next time. What was rented stays: its mode, its ports, its
// volumes and the size of its disk.

import { type Issue, invalidInput, invalidState } from '../errors.ts'
import { type EnvVar, emptyEnvironment, printPort } from '../launch/env.ts'
import type { LaunchInput, LaunchSources } from '../launch/launch.ts'
import { resolveLaunch } from '../launch/merge.ts'
import type { Registry } from '../launch/registry.ts'
import { finalStatusRefusal, type Instance, type LaunchConfig } from './instances.ts'
import { isFinal, type Restart } from './states.ts'

/** What an instance is made of now. Values of secret variables are in it. */
export type CurrentLaunch = Pick<Instance, 'id' | 'status'> & {
  launch: LaunchConfig
  registry: Registry | undefined
  diskMb: number
}

export type ChangedLaunch = { launch: LaunchConfig; registry: Registry | null }

/** Begins with the template or, without one, with what it is made of now. Refused by throwing. */
export function changeLaunch(
  current: CurrentLaunch,
  template: LaunchInput | undefined,
  request: LaunchInput,
): ChangedLaunch {
  if (isFinal(current.status)) throw invalidState(current.id, finalStatusRefusal(current.status))
  const base = template ? fitTemplate(template, current) : launchInputOf(current)
  const { diskGb, ...changes } = request
  const environment = { ...emptyEnvironment(), ...request.environment, ports: [], volumes: [] }
  const { launch, issues } = resolveLaunch(base, { ...changes, environment }, template ? accountVariables(current) : [])
  const allIssues = [...issues, ...fixedSettingIssues(current, request)]
  if (allIssues.length > 0 || !launch) throw invalidInput(allIssues)
  const { image, mode, lab, directory, args, env, ports, hostname, onStart, registry } = launch
  const sources = template ? launch.sources : mergeSources(launch.sources, current.launch.sources)
  return { launch: { image, mode, lab, directory, args, env, ports, hostname, onStart, sources }, registry }
}

/**
 * How it starts anew when that is changed. A container that has not run yet may be under way, made of what it was before:
 * nothing is lost when it is made anew.
 */
export function restartAfterLaunchChange(recycle: boolean, hasRun: boolean, restart: Restart | null): Restart | null {
  return recycle || !hasRun || restart === 'anew' ? 'recycle' : restart
}

function launchInputOf({ launch, registry, diskMb }: CurrentLaunch): LaunchInput {
  const { image, mode, lab, directory, args, env, ports, hostname, onStart } = launch
  return {
    ...{ image, mode, lab, args, registry, diskGb: diskMb / 1000 },
    directory: directory ?? undefined,
    environment: { env, ports, hostname: hostname ?? undefined, volumes: [] },
    onStart: onStart ?? undefined,
  }
}

/** A template as this instance can have it. What belongs to another mode is left out. */
function fitTemplate(template: LaunchInput, current: CurrentLaunch): LaunchInput {
  const { mode, ports, hostname } = current.launch
  const own = { ...emptyEnvironment(), ...template.environment }
  const isOther = template.mode !== undefined && template.mode !== mode
  return {
    ...template,
    ...(isOther ? { lab: undefined, directory: undefined, args: undefined } : {}),
    mode,
    diskGb: current.diskMb / 1000,
    environment: { ...own, ports, hostname: own.hostname ?? hostname ?? undefined, volumes: [] },
  }
}

/** Secret variables of its account, which a template does not have, and takes from nobody. */
function accountVariables({ launch: { env, sources } }: CurrentLaunch): EnvVar[] {
  return env.filter(({ name }) => sources[`env.${name}`] === 'account')
}

/** What is asked for and cannot be changed any more. */
function fixedSettingIssues({ launch, diskMb }: CurrentLaunch, { diskGb, environment }: LaunchInput): Issue[] {
  const { ports, volumes } = { ...emptyEnvironment(), ...environment }
  const isBound = ({ containerPort, protocol }: (typeof ports)[number]) =>
    launch.ports.some(port => port.containerPort === containerPort && port.protocol === protocol)
  const added = ports.filter(port => !isBound(port)).map(printPort)
  const size = `must stay ${diskMb / 1000}: a disk is as large as it was rented.`
  return [
    ...(diskGb === undefined || diskGb * 1000 === diskMb ? [] : [{ path: 'diskGb', message: size }]),
    ...added.map(port => ({ path: `ports.${port}`, message: 'is no port that it was rented with.' })),
    ...(volumes.length > 0 ? [{ path: 'volumes', message: 'are attached when it is rented, and not later.' }] : []),
  ]
}

/** What nobody asked for anew came from where it did. */
function mergeSources(merged: LaunchSources, before: LaunchSources): LaunchSources {
  const kept = Object.entries(merged).flatMap(([path, source]) => {
    const known = source === 'request' ? source : before[path]
    return known ? [[path, known] as const] : []
  })
  return Object.fromEntries(kept)
}
