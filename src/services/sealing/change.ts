// Changes the secret of a database. The caller must hold the migration lock: no gateway starts meanwhile.

import { randomBytes } from 'node:crypto'
import { resealDatabase } from '../../database/sealing/reseal.ts'
import type { DataDeps } from '../deps.ts'
import { createSecrets } from '../secrets.ts'
import {
  canOpen,
  checkColumn,
  continueFrom,
  createSecretCheck,
  openOrNothing,
  sealCheckValue,
  sealedColumns,
} from './check.ts'

type SecretChange = {
  from: string
  to: string
  /** Whether to end what the old secret proves without the database: keys of instances, tokens of notebooks, links. */
  endDerived: boolean
}
export type ChangedSecret = {
  /** False if the database had the new secret already. */
  changed: boolean
  resealed: number
  /** Values that the old secret could not open. They are kept, and stay as unreadable as they were. */
  unreadable: number
}

/** All or nothing, so it can be repeated after a crash. */
export async function changeSecret(
  { database, ownerUrl }: DataDeps & { ownerUrl: string },
  { from, to, endDerived }: SecretChange,
): Promise<ChangedSecret> {
  const isDone = await isSealedWith(to)
  if (isDone && !endDerived) return { changed: false, resealed: 0, unreadable: 0 }
  const [old, next] = [createSecrets(isDone ? to : from), createSecrets(to)]
  const check = createSecretCheck({ database, secrets: old })
  await check.verify()
  await check.save()
  let unreadable = 0
  const resealed = await resealDatabase(ownerUrl, {
    tables: sealedTables(),
    checkTable: checkColumn[0],
    decide(checkValue) {
      // Another command may have changed the secret just now.
      continueFrom(checkValue, old)
      next.continueWith(endDerived ? randomBytes(32) : old.digestKey)
      const reseal = (value: Buffer) => {
        const text = openOrNothing(old, value)
        if (text !== undefined) return next.seal(text)
        unreadable += 1
        return Buffer.concat([next.keyId, value])
      }
      return { checkValue: sealCheckValue(next), keyId: next.keyId, reseal }
    },
  })
  return { changed: true, resealed: resealed - unreadable, unreadable }

  async function isSealedWith(secret: string): Promise<boolean> {
    const [kept] = await database.prisma.secretCheck.findMany()
    return kept !== undefined && canOpen(createSecrets(secret), kept.sealed)
  }
}

function sealedTables(): Record<string, string[]> {
  const tables = [...Map.groupBy(sealedColumns, ([table]) => table)]
  return Object.fromEntries(tables.map(([table, columns]) => [table, columns.map(([, column]) => column)]))
}
