/** All fields of a launch mode, as `LaunchModeInput` takes them. */
export const modeSelection = 'mode { ssh { direct } jupyter { direct lab directory } args { args } }'

const none = { ssh: null, jupyter: null, args: null }
const notebook = { lab: false, directory: null }

/** What `modeSelection` reads of each mode without further settings, by the name that a REST client gives it. */
export const readModes = {
  ssh_proxy: { ...none, ssh: { direct: false } },
  ssh_direct: { ...none, ssh: { direct: true } },
  jupyter_proxy: { ...none, jupyter: { ...notebook, direct: false } },
  jupyter_direct: { ...none, jupyter: { ...notebook, direct: true } },
  args: { ...none, args: { args: [] as string[] } },
}
