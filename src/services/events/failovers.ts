// When the database went on along another line of history, and since when changes may be lost.

import type { DataDeps } from '../deps.ts'

export function failoverOperations({ database }: DataDeps) {
  return {
    failovers: {
      /** Newest first. */
      list: () =>
        database.prisma.failover.findMany({
          select: { epoch: true, line: true, witnessed: true, restored: true, noticedAt: true, completeUntil: true },
          orderBy: { epoch: 'desc' },
          take: 1_000,
        }),
    },
  }
}
