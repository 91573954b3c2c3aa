export type Folder = { path: string; goal: string; share: number }

/** Where mutants are made, and which part of them is made there. Folders with the same goal reach it together. */
export const folders: readonly Folder[] = [
  { path: 'src/domain', goal: 'rules', share: 0.4 },
  { path: 'src/services', goal: 'use cases', share: 0.35 },
  { path: 'src/reconciler', goal: 'use cases', share: 0.15 },
  { path: 'src/events', goal: 'use cases', share: 0.1 },
]

/** The least part of the mutants, in percent, that tests must notice. */
export const goals: Record<string, number> = { rules: 97, 'use cases': 90 }
