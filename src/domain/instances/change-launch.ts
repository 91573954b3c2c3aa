// Changes the launch from which the next container of an instance is made. Mode, ports, volumes and disk size are fixed
// by the rental.

import { type Issue, invalidInput, invalidState } from '../errors.ts'
import { type EnvVar, emptyEnvironment, printPort } from '../launch/env.ts'
import type { LaunchInput, LaunchSources } from '../launch/launch.ts'
import { resolveLaunch } from '../launch/merge.ts'
import type { Registry } from '../launch/registry.ts'
import { finalStatusRefusal } from './actions.ts'
import type { Instance, LaunchConfig } from './instances.ts'
import { isFinal, type Restart } from './states.ts'

/** The current launch of an instance, including the values of secret variables. */
export type CurrentLaunch = Pick<Instance, 'id' | 'status'> & {
  launch: LaunchConfig
  registry: Registry | undefined
  diskMb: number
}

type ChangedLaunch = { launch: LaunchConfig; registry: Registry | null }

/** Merges a request into the template or, without one, into the current launch. Throws when the change is refused. */
export function changeLaunch(
  current: CurrentLaunch,
  template: LaunchInput | undefined,
  request: LaunchInput,
): ChangedLaunch {
  if (isFinal(current.status)) throw invalidState(current.id, finalStatusRefusal(current.status))
  const base = template ? fitTemplate(template, current) : currentLaunchInput(current)
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
 * The restart that follows a launch change. A container that has not run yet may be starting with the old launch. It is
 * made anew, because that loses nothing.
 */
export function restartAfterLaunchChange(recycle: boolean, hasRun: boolean, restart: Restart | null): Restart | null {
  return recycle || !hasRun || restart === 'anew' ? 'recycle' : restart
}

/** A request for the current launch. */
export function currentLaunchInput({ launch, registry, diskMb }: Omit<CurrentLaunch, 'id' | 'status'>): LaunchInput {
  const { image, mode, lab, directory, args, env, ports, hostname, onStart } = launch
  return {
    ...{ image, mode, lab, args, registry, diskGb: diskMb / 1000 },
    directory: directory ?? undefined,
    environment: { env, ports, hostname: hostname ?? undefined, volumes: [] },
    onStart: onStart ?? undefined,
  }
}

/** The template, with the settings that the rental fixed. Settings of another mode are left out. */
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

/** Secret variables of the account. A template does not have them, and must not remove them. */
function accountVariables({ launch: { env, sources } }: CurrentLaunch): EnvVar[] {
  return env.filter(({ name }) => sources[`env.${name}`] === 'account')
}

/** Problems with settings that are fixed since the rental. */
function fixedSettingIssues({ launch, diskMb }: CurrentLaunch, { diskGb, environment }: LaunchInput): Issue[] {
  const { ports, volumes } = { ...emptyEnvironment(), ...environment }
  const isBound = ({ containerPort, protocol }: (typeof ports)[number]) =>
    launch.ports.some(port => port.containerPort === containerPort && port.protocol === protocol)
  const added = ports.filter(port => !isBound(port)).map(printPort)
  const size = `must stay ${diskMb / 1000}: the disk size is fixed when the instance is rented.`
  return [
    ...(diskGb === undefined || diskGb * 1000 === diskMb ? [] : [{ path: 'diskGb', message: size }]),
    ...added.map(port => ({
      path: `ports.${port}`,
      message: 'was not rented with the instance: ports cannot be added later.',
    })),
    ...(volumes.length > 0 ? [{ path: 'volumes', message: 'can be attached only when the instance is rented.' }] : []),
  ]
}

/** A setting that the request does not name keeps its old source. */
function mergeSources(merged: LaunchSources, before: LaunchSources): LaunchSources {
  const kept = Object.entries(merged).flatMap(([path, source]) => {
    const known = source === 'request' ? source : before[path]
    return known ? [[path, known] as const] : []
  })
  return Object.fromEntries(kept)
}
