import { expectTypeOf, it } from 'vitest'
import type * as database from '../../../src/database/generated/enums.ts'
import type { ChargeKind } from '../../../src/domain/billing/balance.ts'
import type { LedgerKind } from '../../../src/domain/billing/ledger.ts'
import type { SpendAction, SpendWindow } from '../../../src/domain/billing/spend-limit.ts'
import type { InstanceStatus, Restart, TargetState } from '../../../src/domain/instances/states.ts'
import type { Verification } from '../../../src/domain/machines/machines.ts'

it('every enum has the same values in the database and in the domain', () => {
  // Checked by the compiler: `npm run check` names the enum that differs.
  expectTypeOf<database.ChargeKind>().toEqualTypeOf<ChargeKind>()
  expectTypeOf<database.LedgerKind>().toEqualTypeOf<LedgerKind>()
  expectTypeOf<database.SpendAction>().toEqualTypeOf<SpendAction>()
  expectTypeOf<database.SpendWindow>().toEqualTypeOf<SpendWindow>()
  expectTypeOf<database.InstanceStatus>().toEqualTypeOf<InstanceStatus>()
  expectTypeOf<database.TargetState>().toEqualTypeOf<TargetState>()
  expectTypeOf<database.Restart>().toEqualTypeOf<Restart>()
  expectTypeOf<database.Verification>().toEqualTypeOf<Verification>()
})
