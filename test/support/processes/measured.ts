import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { LongestStep } from './loop-steps.ts'

export type MeasuredGateway = Awaited<ReturnType<typeof startMeasuredGateway>>

/** Starts a gateway that can say how long its event loop was held at a time. */
export async function startMeasuredGateway(databaseUrl: string, now: Date) {
  const program = join(import.meta.dirname, 'measured-gateway.ts')
  const child = fork(program, [databaseUrl, now.toISOString()], { execArgv: ['--expose-gc'] })
  const answer = async <Result>() => ((await once(child, 'message')) as [{ done: Result }])[0].done
  const order = <Result>(name: string) => {
    const done = answer<Result>()
    child.send(name)
    return done
  }
  const url = await answer<string>()
  return {
    url,
    /** Does all work that is due. */
    work: () => order<undefined>('work'),
    /** The longest step of the event loop while `run` runs. */
    async longestStep(run: () => Promise<unknown>): Promise<LongestStep> {
      await order('begin')
      await run()
      return await order<LongestStep>('finish')
    },
    async stop() {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}
