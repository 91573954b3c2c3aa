export type Tab = { query: string; variables?: string }

/** What comes after a first rental: settings that are kept, bids and volumes. The first tabs make `ins_1`. */
export const moreTabs: Tab[] = [
  {
    query: `# 8. Template: settings to rent with more than once.
# With the id of a template they replace what it has.
mutation Template {
  saveTemplate(
    input: {
      name: "trainer"
      image: "pytorch/pytorch:latest"
      mode: { jupyter: { lab: true } }
      diskGb: 20
      env: [
        { name: "EPOCHS", value: "3" }
        { name: "TOKEN", value: "hush", secret: true }
      ]
    }
  ) {
    ... on SaveTemplateSuccess {
      template { id hashId env { name value secret } }
    }
    ... on Error { code message }
    ... on ConflictError { id }
  }
}
`,
  },
  {
    query: `# 9. Best: searches and rents in one, here at a bid, with
# the hash of the template. What is said beside it counts
# more; sources and source tell where a setting is from.
mutation Best($template: String!) {
  rentBestOffer(
    input: {
      filter: { gpuName: { eq: "RTX 4090" } }
      orderBy: [
        { field: DLPERF_PER_DOLLAR, direction: DESC }
      ]
      # Or onDemand: { maxPricePerHour: "0.8" }
      terms: { interruptible: { bidPerHour: "0.4" } }
      spec: {
        source: { template: { hashId: $template } }
        env: [{ name: "EPOCHS", value: "5" }]
      }
    }
  ) {
    ... on RentBestOfferSuccess {
      instance {
        id
        bidPerHour
        launch {
          mode
          sources { image mode diskGb onStart }
          env { name value source }
        }
      }
    }
    ... on Error { code message }
    ... on NoOfferRentedError {
      attempts { offerId failure }
    }
  }
}
`,
    variables: '{ "template": "fd4a4c258d62396bac970d18d3f31e04" }',
  },
  {
    query: `# 10. Bid: who bids most has the GPUs. Whoever is outbid
# waits, and goes on when they are free again.
mutation Bid($instance: ID!) {
  changeBid(
    input: { instanceId: $instance, bidPerHour: "0.45" }
  ) {
    ... on InstanceSuccess {
      instance { bidPerHour minimumBidPerHour status }
    }
    ... on Error { code message }
    ... on BidTooLowError { minimumBidPerHour }
  }
}
`,
    variables: '{ "instance": "ins_2" }',
  },
  {
    query: `# 11. Volume: a disk that outlives instances. The query
# volumeOffers finds storage. An instance on its machine
# gets the volume by this, in its spec:
# volumes: [{ source: { volumeId: "vol_1" } }]
mutation Volume($storage: ID!) {
  createVolume(
    input: { offerId: $storage, sizeGb: 50, name: "data" }
  ) {
    ... on CreateVolumeSuccess {
      volume {
        id
        sizeGb
        pricePerHour
        machine { id country }
      }
    }
    ... on Error { code message }
  }
}
`,
    variables: '{ "storage": "vof_1" }',
  },
  {
    query: `# 12. Costs: what is left, for how long, and on what it
# was spent in this month, hour by hour if you like.
query Costs {
  viewer {
    credit
    burnRate # Per hour, all together.
    runwaySeconds
    usage(bucket: MONTH, groupBy: [INSTANCE, KIND]) {
      cost
      buckets {
        groups { instanceId volumeId kind cost }
      }
    }
    ledger(first: 10) {
      nodes {
        kind
        amount
        balanceAfter
        instanceId
        periodStart
        periodEnd
        ratePerHour
      }
    }
  }
  instances(first: 10) {
    nodes {
      id
      accruedCost
      burnRate
      burnRateWhenStopped
    }
  }
}
`,
  },
  {
    query: `# 13. Destroy: it ends rentals, and their disks with all
# that is on them. Volumes stay.
mutation Destroy($instances: [ID!]!) {
  destroyInstances(input: { ids: $instances }) {
    ... on BulkInstancesPayload {
      succeededCount
      items { id outcome error { code message } }
    }
    ... on Error { code message }
  }
}
`,
    variables: '{ "instances": ["ins_1", "ins_2"] }',
  },
]
