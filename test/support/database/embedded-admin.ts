import { prepareCluster } from '../../../src/database/embedded/cluster.ts'
import { superuser, urlOf } from '../../../src/database/embedded/roles.ts'

/** The URL of the superuser of an embedded server that runs. Nothing but its set-up, tests and the bench use it. */
export async function superuserUrl(dataDir: string, urls: { databaseUrl: string }): Promise<string> {
  const { port, pathname } = new URL(urls.databaseUrl)
  const cluster = await prepareCluster(dataDir)
  return urlOf(cluster, { role: superuser, database: pathname.slice(1), port: Number(port) })
}
