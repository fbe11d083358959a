# Shared by the bench scripts that draw what newer releases of ONNX brought, which is drawn on request only.
NEWER_OPERATORS=Attention,RMSNormalization,RotaryEmbedding,Swish,TensorScatter,DeformConv,AffineGrid,Col2Im,CenterCropPad
NEWER_OPERATORS=$NEWER_OPERATORS,HannWindow,HammingWindow,BlackmanWindow,DFT,STFT,MelWeightMatrix,DynamicQuantizeLinear
NEWER_OPERATORS=$NEWER_OPERATORS,MaxUnpool,RoiAlign,NonMaxSuppression,Unique,ReverseSequence,Det,NegativeLogLikelihoodLoss
NEWER_OPERATORS=$NEWER_OPERATORS,SoftmaxCrossEntropyLoss,BitwiseAnd,BitwiseOr,BitwiseXor,Compress,TfIdfVectorizer
NEWER_OPERATORS=$NEWER_OPERATORS,QLinearConv,QLinearMatMul,MeanVarianceNormalization,Scan
NARROW_TYPES=float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,float8e8m0,float4e2m1,int4,uint4,int2,uint2
# Operators that have them on some engine.
NARROW_OPERATORS=Cast,CastLike,QuantizeLinear,DequantizeLinear,Identity,Reshape,Transpose,Squeeze,Unsqueeze,Flatten,Shape,Size
