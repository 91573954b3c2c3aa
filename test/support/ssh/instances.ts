import { setTimeout as sleep } from 'node:timers/promises'
import { listMachines } from '../factories.ts'
import type { Gateway, RentOptions } from '../gateways.ts'

/** Rents an instance that gets these public keys, and waits until it runs. */
export async function newRunningInstance(
  gateway: Gateway,
  publicKeys: string[],
  launch: RentOptions['launch'] = {},
): Promise<bigint> {
  const actor = await gateway.newActor()
  for (const publicKey of publicKeys) await gateway.services.sshKeys.create(actor, { publicKey }, { id: true })
  await listMachines(gateway.operations, [{}])
  const [offer] = await gateway.sql('SELECT id FROM offers ORDER BY machine_id DESC, num_gpus DESC, id LIMIT 1')
  const { id } = await gateway.rent(actor, BigInt(String(offer?.['id'])), { launch })
  const status = async () => {
    await gateway.idle()
    return (await gateway.sql('SELECT status FROM instances WHERE id = $1', [String(id)]))[0]?.['status']
  }
  while ((await status()) !== 'running') await sleep(20)
  return id
}
